// SPDX-License-Identifier: Apache-2.0
// Wrong arguments to the collectives and their I-forms, made by all ranks alike: refused before
// anything is sent, so that the communicator stays usable.
#include "bad_handles.h"
#include "call_pair.h"

struct arguments {
    const void* out;
    int count;
    MPI_Datatype type;
    void* in;
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

CALL(barrier, MPI_Barrier(a->comm))
CALL(ibarrier, MPI_Ibarrier(a->comm, request))
CALL(bcast, MPI_Bcast(a->in, a->count, a->type, a->root, a->comm))
CALL(ibcast, MPI_Ibcast(a->in, a->count, a->type, a->root, a->comm, request))
CALL(reduce, MPI_Reduce(a->out, a->in, a->count, a->type, a->op, a->root, a->comm))
CALL(ireduce, MPI_Ireduce(a->out, a->in, a->count, a->type, a->op, a->root, a->comm, request))
CALL(allreduce, MPI_Allreduce(a->out, a->in, a->count, a->type, a->op, a->comm))
CALL(iallreduce, MPI_Iallreduce(a->out, a->in, a->count, a->type, a->op, a->comm, request))
CALL(gather, MPI_Gather(a->out, a->count, a->type, a->in, a->count, a->type, a->root, a->comm))
CALL(igather,
     MPI_Igather(a->out, a->count, a->type, a->in, a->count, a->type, a->root, a->comm, request))
CALL(scatter, MPI_Scatter(a->out, a->count, a->type, a->in, a->count, a->type, a->root, a->comm))
CALL(iscatter,
     MPI_Iscatter(a->out, a->count, a->type, a->in, a->count, a->type, a->root, a->comm, request))
CALL(allgather, MPI_Allgather(a->out, a->count, a->type, a->in, a->count, a->type, a->comm))
CALL(iallgather,
     MPI_Iallgather(a->out, a->count, a->type, a->in, a->count, a->type, a->comm, request))
CALL(alltoall, MPI_Alltoall(a->out, a->count, a->type, a->in, a->count, a->type, a->comm))
CALL(ialltoall,
     MPI_Ialltoall(a->out, a->count, a->type, a->in, a->count, a->type, a->comm, request))

enum takes { takes_data = 1, takes_op = 2, takes_root = 4 };

static const struct call_pair functions[] = {
    {"Barrier", barrier, ibarrier, 0},
    {"Bcast", bcast, ibcast, takes_data | takes_root},
    {"Reduce", reduce, ireduce, takes_data | takes_op | takes_root},
    {"Allreduce", allreduce, iallreduce, takes_data | takes_op},
    {"Gather", gather, igather, takes_data | takes_root},
    {"Scatter", scatter, iscatter, takes_data | takes_root},
    {"Allgather", allgather, iallgather, takes_data},
    {"Alltoall", alltoall, ialltoall, takes_data},
};
enum { function_count = sizeof functions / sizeof functions[0] };

static void one(struct check* t, const char* what, int takes, const struct arguments* arguments,
                int wanted)
{
    const int classes[2] = {wanted, -1};
    for (int i = 0; i < function_count; ++i) {
        if ((functions[i].takes & takes) == takes)
            refused_pair(t, &functions[i], what, arguments, classes);
    }
}

static void plain_rows(struct check* t, int64_t* out, int64_t* in)
{
    const struct arguments good = {out, 1, MPI_INT64_T, in, MPI_SUM, 0, MPI_COMM_WORLD};
    struct arguments a = good;
    a.comm = MPI_COMM_NULL;
    one(t, "the null comm", 0, &a, MPI_ERR_COMM);
    // MPICH looks at a count, type, op or root only where the rank happens to need it.
    if (t->lenient)
        return;
    a = good;
    a.count = -1;
    one(t, "a negative count", takes_data, &a, MPI_ERR_COUNT);
    a = good;
    a.type = MPI_DATATYPE_NULL;
    one(t, "the null type", takes_data, &a, MPI_ERR_TYPE);
    const int roots[] = {-1, -9, t->size, 1 << 30, MPI_PROC_NULL, MPI_ROOT, MPI_UNDEFINED};
    for (int i = 0; i < (int)(sizeof roots / sizeof roots[0]); ++i) {
        a = good;
        a.root = roots[i];
        one(t, "a wrong root", takes_root, &a, MPI_ERR_ROOT);
    }
    a = good;
    a.op = MPI_OP_NULL;
    one(t, "the null op", takes_op, &a, MPI_ERR_OP);
    a.op = MPI_REPLACE;
    one(t, "an op for windows only", takes_op, &a, MPI_ERR_OP);
    a.op = MPI_NO_OP;
    one(t, "an op for windows only", takes_op, &a, MPI_ERR_OP);
}

// MPI 5.0, 6.9.2: which predefined op goes with which kind of type.
static void wrong_op_for_type(struct check* t, int64_t* out, int64_t* in)
{
    const struct {
        MPI_Op op;
        MPI_Datatype type;
        const char* what;
    } rows[] = {
        {MPI_BAND, MPI_DOUBLE, "BAND of doubles"},
        {MPI_BXOR, MPI_FLOAT, "BXOR of floats"},
        {MPI_LAND, MPI_DOUBLE, "LAND of doubles"},
        {MPI_MAX, MPI_C_DOUBLE_COMPLEX, "MAX of complex"},
        {MPI_MIN, MPI_C_BOOL, "MIN of bool"},
        {MPI_SUM, MPI_C_BOOL, "SUM of bool"},
        {MPI_SUM, MPI_BYTE, "SUM of bytes"},
        {MPI_MAX, MPI_BYTE, "MAX of bytes"},
        {MPI_SUM, MPI_CHAR, "SUM of characters"},
        {MPI_SUM, MPI_WCHAR, "SUM of wide characters"},
        {MPI_SUM, MPI_2INT, "SUM of pairs"},
        {MPI_BOR, MPI_DOUBLE_INT, "BOR of pairs"},
        {MPI_MINLOC, MPI_INT, "MINLOC of ints"},
        {MPI_MAXLOC, MPI_DOUBLE, "MAXLOC of doubles"},
        {MPI_SUM, MPI_PACKED, "SUM of packed"},
        {MPI_LOR, MPI_C_COMPLEX, "LOR of complex"},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); ++i) {
        const struct arguments a = {out, 1, rows[i].type, in, rows[i].op, 0, MPI_COMM_WORLD};
        one(t, rows[i].what, takes_op, &a, MPI_ERR_OP);
    }
}

static void buffers(struct check* t, int64_t* out, int64_t* in)
{
    REFUSED(t, MPI_Bcast(NULL, 1, MPI_INT64_T, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Allreduce(NULL, in, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Allreduce(out, NULL, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Allgather(NULL, 1, MPI_INT64_T, in, 1, MPI_INT64_T, MPI_COMM_WORLD),
            MPI_ERR_BUFFER);
    REFUSED(t, MPI_Alltoall(NULL, 1, MPI_INT64_T, in, 1, MPI_INT64_T, MPI_COMM_WORLD),
            MPI_ERR_BUFFER);
    REFUSED(t, MPI_Reduce_local(in, in, 1, MPI_INT64_T, MPI_SUM), MPI_ERR_BUFFER);
    CHECK_CALL(t, MPI_Reduce_local(in, in, 0, MPI_INT64_T, MPI_SUM));
    // MPI_IN_PLACE where the standard does not allow it.
    REFUSED(t, MPI_Allreduce(out, MPI_IN_PLACE, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD),
            MPI_ERR_BUFFER);
    if (t->rank != 0)
        return;
    // On one rank only, so that no other is left inside the operation.
    REFUSED(t, MPI_Reduce(out, NULL, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
    REFUSED(t, MPI_Gather(out, 1, MPI_INT64_T, NULL, 1, MPI_INT64_T, 0, MPI_COMM_SELF),
            MPI_ERR_BUFFER);
    REFUSED(t, MPI_Scatter(NULL, 1, MPI_INT64_T, in, 1, MPI_INT64_T, 0, MPI_COMM_SELF),
            MPI_ERR_BUFFER);
}

static void garbage_rows(struct check* t, const struct bad_handles* bad, int64_t* out, int64_t* in)
{
    const struct arguments good = {out, 1, MPI_INT64_T, in, MPI_SUM, 0, MPI_COMM_WORLD};
    for (int i = 0; i < bad->used; ++i) {
        struct arguments a = good;
        a.comm = (MPI_Comm)bad->values[i];
        one(t, "a garbage comm", 0, &a, MPI_ERR_COMM);
        a = good;
        a.type = (MPI_Datatype)bad->values[i];
        one(t, "a garbage type", takes_data, &a, MPI_ERR_TYPE);
        a = good;
        a.op = (MPI_Op)bad->values[i];
        one(t, "a garbage op", takes_op, &a, MPI_ERR_OP);
    }
}

static void take_left(void* in, void* inout, int* length, MPI_Datatype* type)
{
    (void)type;
    memcpy(inout, in, (size_t)*length * sizeof(int64_t));
}

static void ops(struct check* t, int64_t* out, int64_t* in)
{
    MPI_Op op = MPI_OP_NULL, sum = MPI_SUM;
    struct arguments a = {out, 1, MPI_INT64_T, in, MPI_SUM, 0, MPI_COMM_WORLD};
    REFUSED(t, MPI_Op_free(&op), MPI_ERR_OP, MPI_ERR_ARG);
    REFUSED(t, MPI_Op_free(&sum), MPI_ERR_OP, MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Op_free(NULL), MPI_ERR_OP, MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG, MPI_ERR_OP);
    REFUSED_UNSAFE(t, MPI_Op_create(take_left, 1, NULL), MPI_ERR_ARG, MPI_ERR_OP);
    if (t->skip_garbage)
        return;
    CHECK_CALL(t, MPI_Op_create(take_left, 0, &op));
    a.op = op;
    CHECK_CALL(t, MPI_Op_free(&op));
    one(t, "a freed op", takes_op, &a, MPI_ERR_OP);
    CHECK_CALL(t, MPI_Op_create(take_left, 0, &op));
    if (CHECK(t, op != a.op))
        one(t, "a freed op while another exists", takes_op, &a, MPI_ERR_OP);
    CHECK_CALL(t, MPI_Op_free(&op));
}

static int test_main(void)
{
    struct check t = check_start("errors_collective");
    struct bad_handles bad;
    int64_t* out = calloc((size_t)t.size, 4 * sizeof *out);
    int64_t* in = calloc((size_t)t.size, 4 * sizeof *in);
    if (!CHECK(&t, out != NULL && in != NULL))
        return check_finish(&t);
    bad_handles_fill(&bad, t.skip_garbage);
    return_errors(&t);
    plain_rows(&t, out, in);
    if (!t.lenient)
        wrong_op_for_type(&t, out, in);
    if (!t.lenient)
        buffers(&t, out, in);
    garbage_rows(&t, &bad, out, in);
    ops(&t, out, in);
    REFUSED_UNSAFE(&t, MPI_Ibarrier(MPI_COMM_SELF, NULL), MPI_ERR_ARG, MPI_ERR_REQUEST);
    REFUSED_UNSAFE(&t, MPI_Ibcast(in, 1, MPI_INT64_T, 0, MPI_COMM_SELF, NULL), MPI_ERR_ARG,
                   MPI_ERR_REQUEST);
    REFUSED_UNSAFE(&t, MPI_Iallreduce(out, in, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_SELF, NULL),
                   MPI_ERR_ARG, MPI_ERR_REQUEST);
    check_still_works(&t);
    free(in);
    free(out);
    return check_finish(&t);
}
