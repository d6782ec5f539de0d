// SPDX-License-Identifier: Apache-2.0
// Wrong arguments to the calls that send, receive and probe: the error class, function by
// function and argument by argument; nothing is sent and nothing hangs.
#include "bad_handles.h"

// One shape for all six sends: blocking ones leave `request` alone.
struct send_call {
    const char* name;
    int (*blocking)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
    int (*started)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
};

static const struct send_call send_calls[] = {
    {"MPI_Send", MPI_Send, NULL},     {"MPI_Ssend", MPI_Ssend, NULL},
    {"MPI_Rsend", MPI_Rsend, NULL},   {"MPI_Isend", NULL, MPI_Isend},
    {"MPI_Issend", NULL, MPI_Issend}, {"MPI_Irsend", NULL, MPI_Irsend},
};

struct arguments {
    void* buffer;
    int count;
    MPI_Datatype type;
    int peer;
    int tag;
    MPI_Comm comm;
};

static int call_send(const struct send_call* call, const struct arguments* a)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (call->blocking) {
        return call->blocking(a->buffer, a->count, a->type, a->peer, a->tag, a->comm);
    }
    return call->started(a->buffer, a->count, a->type, a->peer, a->tag, a->comm, &request);
}

static int call_receive(int started, const struct arguments* a)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    if (started) {
        return MPI_Irecv(a->buffer, a->count, a->type, a->peer, a->tag, a->comm, &request);
    }
    return MPI_Recv(a->buffer, a->count, a->type, a->peer, a->tag, a->comm, &status);
}

static int call_probe(int immediate, const struct arguments* a)
{
    int flag = 0;
    MPI_Status status;
    if (immediate)
        return MPI_Iprobe(a->peer, a->tag, a->comm, &flag, &status);
    return MPI_Probe(a->peer, a->tag, a->comm, &status);
}

// Which of the three families a row is for.
enum { sends = 1, receives = 2, probes = 4 };

struct row {
    const char* what;
    int families;
    struct arguments arguments;
    int allowed[4];
};

static void one(struct check* t, const struct row* row)
{
    const long failures = t->failures;
    const char* name = "";
    for (int i = 0; i < 6 && row->families & sends; ++i) {
        const long before = t->failures;
        check_refused(t, __FILE__, __LINE__, send_calls[i].name,
                      call_send(&send_calls[i], &row->arguments), row->allowed);
        if (t->failures != before)
            name = send_calls[i].name;
    }
    for (int i = 0; i < 2 && row->families & receives; ++i) {
        check_refused(t, __FILE__, __LINE__, i ? "MPI_Irecv" : "MPI_Recv",
                      call_receive(i, &row->arguments), row->allowed);
    }
    for (int i = 0; i < 2 && row->families & probes; ++i) {
        check_refused(t, __FILE__, __LINE__, i ? "MPI_Iprobe" : "MPI_Probe",
                      call_probe(i, &row->arguments), row->allowed);
    }
    if (t->failures != failures) {
        fprintf(stderr, "errors: the rows above are about %s %s\n", row->what, name);
    }
}

static void plain_rows(struct check* t)
{
    int x[4] = {0};
    const int n = t->size, all = sends | receives | probes, data = sends | receives;
    const struct row rows[] = {
        {"null comm", all, {x, 1, MPI_INT, 0, 0, MPI_COMM_NULL}, {MPI_ERR_COMM, -1}},
        {"negative count", data, {x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD}, {MPI_ERR_COUNT, -1}},
        {"least count", data, {x, INT32_MIN, MPI_INT, 0, 0, MPI_COMM_WORLD}, {MPI_ERR_COUNT, -1}},
        {"null type", data, {x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD}, {MPI_ERR_TYPE, -1}},
        {"rank = size", all, {x, 1, MPI_INT, n, 0, MPI_COMM_WORLD}, {MPI_ERR_RANK, -1}},
        {"large rank", all, {x, 1, MPI_INT, 1 << 30, 0, MPI_COMM_WORLD}, {MPI_ERR_RANK, -1}},
        {"rank -7", all, {x, 1, MPI_INT, -7, 0, MPI_COMM_WORLD}, {MPI_ERR_RANK, -1}},
        {"MPI_ROOT as rank", all, {x, 1, MPI_INT, MPI_ROOT, 0, MPI_COMM_WORLD}, {MPI_ERR_RANK, -1}},
        {"rank MPI_UNDEFINED",
         all,
         {x, 1, MPI_INT, MPI_UNDEFINED, 0, MPI_COMM_WORLD},
         {MPI_ERR_RANK, -1}},
        {"send to any source",
         sends,
         {x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD},
         {MPI_ERR_RANK, -1}},
        {"send with any tag",
         sends,
         {x, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD},
         {MPI_ERR_TAG, -1}},
        {"tag -1", all, {x, 1, MPI_INT, 0, -1, MPI_COMM_WORLD}, {MPI_ERR_TAG, -1}},
        {"tag -7", all, {x, 1, MPI_INT, 0, -7, MPI_COMM_WORLD}, {MPI_ERR_TAG, -1}},
        {"null buffer", data, {NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD}, {MPI_ERR_BUFFER, -1}},
        {"rank 1 of self", all, {x, 1, MPI_INT, 1, 0, MPI_COMM_SELF}, {MPI_ERR_RANK, -1}},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); ++i) {
        // MPICH takes -1, its own number of MPI_ANY_TAG, for a wildcard under the ABI too.
        if (t->lenient && rows[i].arguments.tag == -1)
            continue;
        one(t, &rows[i]);
    }
}

static void garbage_rows(struct check* t, const struct bad_handles* bad)
{
    int x[4] = {0};
    for (int i = 0; i < bad->used; ++i) {
        const struct row comm = {"garbage comm",
                                 sends | receives | probes,
                                 {x, 1, MPI_INT, 0, 0, (MPI_Comm)bad->values[i]},
                                 {MPI_ERR_COMM, -1}};
        const struct row type = {"garbage type",
                                 sends | receives,
                                 {x, 1, (MPI_Datatype)bad->values[i], 0, 0, MPI_COMM_WORLD},
                                 {MPI_ERR_TYPE, -1}};
        one(t, &comm);
        one(t, &type);
    }
    if (bad->used == 0)
        return;
    // A handle of another kind is as wrong as any.
    const struct row comm = {"an op as comm",
                             sends | receives | probes,
                             {x, 1, MPI_INT, 0, 0, (MPI_Comm)(uintptr_t)MPI_SUM},
                             {MPI_ERR_COMM, -1}};
    const struct row type = {"a comm as type",
                             sends | receives,
                             {x, 1, (MPI_Datatype)(uintptr_t)MPI_COMM_WORLD, 0, 0, MPI_COMM_WORLD},
                             {MPI_ERR_TYPE, -1}};
    one(t, &comm);
    one(t, &type);
    MPI_Comm copy, freed;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    freed = copy;
    CHECK_CALL(t, MPI_Comm_free(&copy));
    const struct row gone = {
        "freed comm", sends | receives | probes, {x, 1, MPI_INT, 0, 0, freed}, {MPI_ERR_COMM, -1}};
    one(t, &gone);
    // Its slot may be used again; the old handle is still not the new communicator.
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    if (CHECK(t, copy != freed))
        one(t, &gone);
    CHECK_CALL(t, MPI_Comm_free(&copy));
}

static void sendrecv(struct check* t)
{
    int out = 1, in = 0;
    const int n = t->size, nobody = MPI_PROC_NULL;
    MPI_Status status;
#define SENDRECV(sb, sc, st, to, stag, rb, rc, rt, from, rtag, comm) \
    MPI_Sendrecv(sb, sc, st, to, stag, rb, rc, rt, from, rtag, comm, &status)
    REFUSED(t, SENDRECV(&out, 1, MPI_INT, nobody, 0, &in, 1, MPI_INT, nobody, 0, MPI_COMM_NULL),
            MPI_ERR_COMM);
    REFUSED(t, SENDRECV(&out, -1, MPI_INT, nobody, 0, &in, 1, MPI_INT, nobody, 0, MPI_COMM_WORLD),
            MPI_ERR_COUNT);
    REFUSED(t, SENDRECV(&out, 1, MPI_INT, nobody, 0, &in, -1, MPI_INT, nobody, 0, MPI_COMM_WORLD),
            MPI_ERR_COUNT);
    REFUSED(t, SENDRECV(&out, 1, MPI_DATATYPE_NULL, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD),
            MPI_ERR_TYPE);
    REFUSED(t, SENDRECV(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD),
            MPI_ERR_TYPE);
    REFUSED(t, SENDRECV(&out, 1, MPI_INT, n, 0, &in, 1, MPI_INT, nobody, 0, MPI_COMM_WORLD),
            MPI_ERR_RANK);
    REFUSED(t, SENDRECV(&out, 1, MPI_INT, nobody, 0, &in, 1, MPI_INT, n, 0, MPI_COMM_WORLD),
            MPI_ERR_RANK);
    REFUSED(t, SENDRECV(&out, 1, MPI_INT, nobody, -3, &in, 1, MPI_INT, nobody, 0, MPI_COMM_WORLD),
            MPI_ERR_TAG);
    REFUSED(t, SENDRECV(&out, 1, MPI_INT, nobody, 0, &in, 1, MPI_INT, nobody, -3, MPI_COMM_WORLD),
            MPI_ERR_TAG);
    REFUSED(t, SENDRECV(NULL, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD),
            MPI_ERR_BUFFER);
    REFUSED(t, SENDRECV(&out, 1, MPI_INT, 0, 0, NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD),
            MPI_ERR_BUFFER);
#undef SENDRECV
}

static void null_results(struct check* t)
{
    int x = 0, flag = 0;
    MPI_Status status;
    REFUSED_UNSAFE(t, MPI_Isend(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG,
                   MPI_ERR_REQUEST);
    REFUSED_UNSAFE(t, MPI_Issend(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG,
                   MPI_ERR_REQUEST);
    REFUSED_UNSAFE(t, MPI_Irsend(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG,
                   MPI_ERR_REQUEST);
    REFUSED_UNSAFE(t, MPI_Irecv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG,
                   MPI_ERR_REQUEST);
    REFUSED(t, MPI_Iprobe(0, 0, MPI_COMM_WORLD, NULL, &status), MPI_ERR_ARG);
    CHECK_CALL(t, MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &status));
    REFUSED(t, MPI_Get_count(&status, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED(t, MPI_Get_count(&status, MPI_DATATYPE_NULL, &x), MPI_ERR_TYPE);
    REFUSED_UNSAFE(t, MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &x), MPI_ERR_ARG);
    REFUSED(t, MPI_Type_size(MPI_DATATYPE_NULL, &x), MPI_ERR_TYPE);
    REFUSED(t, MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG);
}

static int test_main(void)
{
    struct check t = check_start("errors_point_to_point");
    struct bad_handles bad;
    bad_handles_fill(&bad, t.skip_garbage);
    return_errors(&t);
    plain_rows(&t);
    garbage_rows(&t, &bad);
    sendrecv(&t);
    null_results(&t);
    for (int i = 0; i < bad.used; ++i) {
        int size = 0;
        REFUSED(&t, MPI_Type_size((MPI_Datatype)bad.values[i], &size), MPI_ERR_TYPE);
    }
    check_still_works(&t);
    return check_finish(&t);
}
