// SPDX-License-Identifier: Apache-2.0
// Performance variables: sessions and handles of their own, which start, stop, read and reset apart
// from each other.
#include "../check.h"

enum { text_bytes = 512, messages = 5, bytes = 700 };

static int find(struct check* t, const char* name, int variable_class)
{
    int index = -1;
    CHECK_CALL(t, MPI_T_pvar_get_index(name, variable_class, &index));
    return index;
}

static MPI_T_pvar_handle open_handle(struct check* t, MPI_T_pvar_session session, int index)
{
    int count = 0;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    CHECK_CALL(t, MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    CHECK_INT(t, count, 1);
    return handle;
}

static uint64_t value_of(struct check* t, MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    uint64_t value = 0;
    CHECK_CALL(t, MPI_T_pvar_read(session, handle, &value));
    return value;
}

static void ring(const struct check* t, int count)
{
    char out[bytes] = "", in[bytes];
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    for (int i = 0; i < count; ++i)
        MPI_Sendrecv(out, bytes, MPI_CHAR, to, 1, in, bytes, MPI_CHAR, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

// Receives that need no place among the posted ones: that of a short MPI_Sendrecv, whose message
// goes first, and a short partitioned one until somebody looks.
static void unposted(struct check* t)
{
    int out = 5, in = 0, flag = 1;
    MPI_Request sent, received;
    MPI_T_pvar_session session;
    CHECK_CALL(t, MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle now =
        open_handle(t, session, find(t, "posted_queue", MPI_T_PVAR_CLASS_LEVEL));
    MPI_T_pvar_handle most =
        open_handle(t, session, find(t, "posted_queue_max", MPI_T_PVAR_CLASS_HIGHWATERMARK));
    CHECK_CALL(t, MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    CHECK_INT(t, value_of(t, session, most), 0);
    CHECK_CALL(t, MPI_Sendrecv(&out, 1, MPI_INT, t->rank, 2, &in, 1, MPI_INT, t->rank, 2,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(t, in, 5);
    CHECK_INT(t, value_of(t, session, most), 0);
    CHECK_CALL(
        t, MPI_Psend_init(&out, 1, 1, MPI_INT, t->rank, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &sent));
    CHECK_CALL(t, MPI_Precv_init(&in, 1, 1, MPI_INT, t->rank, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                                 &received));
    CHECK_CALL(t, MPI_Start(&received));
    CHECK_INT(t, value_of(t, session, now), 0);
    CHECK_CALL(t, MPI_Test(&received, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(t, flag, 0);
    CHECK_INT(t, value_of(t, session, now), 1);
    CHECK_CALL(t, MPI_Start(&sent));
    CHECK_CALL(t, MPI_Pready(0, sent));
    CHECK_CALL(t, MPI_Wait(&received, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_INT(t, value_of(t, session, now), 0);
    CHECK_CALL(t, MPI_Request_free(&sent));
    CHECK_CALL(t, MPI_Request_free(&received));
    CHECK_CALL(t, MPI_T_pvar_session_free(&session));
}

static void check_list(struct check* t)
{
    int pvars = 0;
    CHECK_CALL(t, MPI_T_pvar_get_num(&pvars));
    for (int i = 0; i < pvars; ++i) {
        char name[text_bytes] = "", about[text_bytes] = "";
        int name_len = text_bytes, about_len = text_bytes, verbosity = 0, variable_class = 0;
        int bind = 0, readonly = -1, continuous = -1, atomic = -1, found = -1;
        MPI_Datatype type;
        MPI_T_enum enumeration;
        CHECK_CALL(t, MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &variable_class, &type,
                                          &enumeration, about, &about_len, &bind, &readonly,
                                          &continuous, &atomic));
        CHECK_CALL(t, MPI_T_pvar_get_index(name, variable_class, &found));
        CHECK_INT(t, found, i);
        CHECK_INT(t, about_len, (int)strlen(about) + 1);
    }
    int index;
    CHECK_INT(t, MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &index),
              MPI_T_ERR_INVALID_NAME);
}

static void check_counting(struct check* t)
{
    MPI_T_pvar_session first, second;
    CHECK_CALL(t, MPI_T_pvar_session_create(&first));
    CHECK_CALL(t, MPI_T_pvar_session_create(&second));
    const int sent = find(t, "messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    const int sent_bytes = find(t, "bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle one = open_handle(t, first, sent);
    MPI_T_pvar_handle other = open_handle(t, second, sent);
    MPI_T_pvar_handle amount = open_handle(t, first, sent_bytes);
    CHECK_CALL(t, MPI_T_pvar_start(first, MPI_T_PVAR_ALL_HANDLES));
    ring(t, messages);
    CHECK_INT(t, value_of(t, first, one), messages);
    CHECK_INT(t, value_of(t, first, amount), messages * bytes);
    CHECK_INT(t, value_of(t, second, other), 0);
    CHECK_CALL(t, MPI_T_pvar_start(second, other));
    CHECK_CALL(t, MPI_T_pvar_stop(first, one));
    ring(t, messages);
    CHECK_INT(t, value_of(t, first, one), messages);
    CHECK_INT(t, value_of(t, first, amount), 2 * messages * bytes);
    CHECK_INT(t, value_of(t, second, other), messages);
    uint64_t value = 0;
    CHECK_CALL(t, MPI_T_pvar_readreset(second, other, &value));
    CHECK_INT(t, value, messages);
    CHECK_INT(t, value_of(t, second, other), 0);
    ring(t, 1);
    CHECK_INT(t, value_of(t, second, other), 1);
    value = 40;
    CHECK_CALL(t, MPI_T_pvar_write(second, other, &value));
    ring(t, 2);
    CHECK_INT(t, value_of(t, second, other), 42);
    CHECK_CALL(t, MPI_T_pvar_reset(first, MPI_T_PVAR_ALL_HANDLES));
    CHECK_INT(t, value_of(t, first, amount), 0);
    // A handle belongs to one session.
    CHECK_INT(t, MPI_T_pvar_read(second, one, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_CALL(t, MPI_T_pvar_handle_free(first, &one));
    CHECK(t, one == MPI_T_PVAR_HANDLE_NULL);
    CHECK_CALL(t, MPI_T_pvar_session_free(&first));
    CHECK(t, first == MPI_T_PVAR_SESSION_NULL);
    CHECK_CALL(t, MPI_T_pvar_session_free(&second));
    CHECK_INT(t, MPI_T_pvar_session_free(&second), MPI_T_ERR_INVALID_SESSION);
}

static void check_levels(struct check* t)
{
    MPI_T_pvar_session session;
    CHECK_CALL(t, MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle handles =
        open_handle(t, session, find(t, "live_handles", MPI_T_PVAR_CLASS_LEVEL));
    const uint64_t before = value_of(t, session, handles);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    CHECK_INT(t, value_of(t, session, handles), before + 1);
    MPI_Comm_free(&comm);
    CHECK_INT(t, value_of(t, session, handles), before);
    uint64_t value = 0;
    CHECK_INT(t, MPI_T_pvar_start(session, handles), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK_INT(t, MPI_T_pvar_reset(session, handles), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_INT(t, MPI_T_pvar_write(session, handles, &value), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_INT(t, MPI_T_pvar_readreset(session, handles, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
    MPI_T_pvar_handle calls = open_handle(t, session, find(t, "calls", MPI_T_PVAR_CLASS_COUNTER));
    MPI_T_pvar_handle time = open_handle(t, session, find(t, "call_time", MPI_T_PVAR_CLASS_TIMER));
    CHECK_CALL(t, MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    for (int i = 0; i < 10; ++i) {
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    CHECK_INT(t, value_of(t, session, calls), 10);
    CHECK(t, value_of(t, session, time) > 0);
    CHECK_CALL(t, MPI_T_pvar_session_free(&session));
}

enum { queued = 6 };

// A handle that has a value whether or not it was started.
static MPI_T_pvar_handle open_named(struct check* t, MPI_T_pvar_session session, const char* name,
                                    int variable_class)
{
    return open_handle(t, session, find(t, name, variable_class));
}

// Requires that no other rank sends this one anything meanwhile.
static void check_queues(struct check* t)
{
    MPI_T_pvar_session session;
    CHECK_CALL(t, MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle posted = open_named(t, session, "posted_queue", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle posted_max =
        open_named(t, session, "posted_queue_max", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    MPI_T_pvar_handle kept = open_named(t, session, "unexpected_queue", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle kept_max =
        open_named(t, session, "unexpected_queue_max", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    const uint64_t posted_before = value_of(t, session, posted);
    const uint64_t kept_before = value_of(t, session, kept);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    int in[queued], out[queued], flag = 0;
    MPI_Request receives[queued], sends[queued];
    for (int i = 0; i < queued; ++i) {
        in[i] = 0;
        MPI_Irecv(&in[i], 1, MPI_INT, 0, i % 2 == 0 ? MPI_ANY_TAG : i, comm, &receives[i]);
        CHECK_INT(t, value_of(t, session, posted), posted_before + (uint64_t)i + 1);
    }
    CHECK(t, value_of(t, session, posted_max) >= posted_before + queued);
    MPI_Cancel(&receives[queued - 1]);
    MPI_Wait(&receives[queued - 1], MPI_STATUS_IGNORE);
    CHECK_INT(t, value_of(t, session, posted), posted_before + queued - 1);
    for (int i = 0; i < queued - 1; ++i) {
        out[i] = i;
        MPI_Send(&out[i], 1, MPI_INT, 0, i, comm);
    }
    MPI_Waitall(queued - 1, receives, MPI_STATUSES_IGNORE);
    CHECK_INT(t, value_of(t, session, posted), posted_before);
    CHECK(t, value_of(t, session, posted_max) >= posted_before + queued);
    for (int i = 0; i < queued; ++i) {
        out[i] = i;
        MPI_Isend(&out[i], 1, MPI_INT, 0, i, comm, &sends[i]);
    }
    MPI_Iprobe(0, queued, comm, &flag, MPI_STATUS_IGNORE);
    CHECK_INT(t, value_of(t, session, kept), kept_before + queued);
    CHECK(t, value_of(t, session, kept_max) >= kept_before + queued);
    for (int i = queued - 1; i >= 0; --i) {
        MPI_Recv(&in[i], 1, MPI_INT, 0, i, comm, MPI_STATUS_IGNORE);
        CHECK_INT(t, in[i], i);
    }
    MPI_Waitall(queued, sends, MPI_STATUSES_IGNORE);
    CHECK_INT(t, value_of(t, session, kept), kept_before);
    CHECK(t, value_of(t, session, kept_max) >= kept_before + queued);
    MPI_Comm_free(&comm);
    CHECK_CALL(t, MPI_T_pvar_session_free(&session));
}

// One rank after the other; those that are not at it wait for a message that comes last.
static void check_queues_in_turn(struct check* t)
{
    const int last = t->size - 1;
    if (t->rank > 0)
        MPI_Recv(NULL, 0, MPI_INT, t->rank - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_queues(t);
    if (t->rank < last) {
        MPI_Send(NULL, 0, MPI_INT, t->rank + 1, 2, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_INT, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int rank = 0; t->rank == last && rank < last; ++rank)
        MPI_Send(NULL, 0, MPI_INT, rank, 3, MPI_COMM_WORLD);
}

// Posts receives and matches them.
static void match_some(void)
{
    int in[queued], out = 1;
    MPI_Request receives[queued];
    for (int i = 0; i < queued; ++i)
        MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &receives[i]);
    for (int i = 0; i < queued; ++i)
        MPI_Send(&out, 1, MPI_INT, 0, i, MPI_COMM_SELF);
    MPI_Waitall(queued, receives, MPI_STATUSES_IGNORE);
}

static void check_match_time(struct check* t)
{
    MPI_T_pvar_session first, second;
    CHECK_CALL(t, MPI_T_pvar_session_create(&first));
    CHECK_CALL(t, MPI_T_pvar_session_create(&second));
    MPI_T_pvar_handle one = open_named(t, first, "match_work_time", MPI_T_PVAR_CLASS_TIMER);
    MPI_T_pvar_handle other = open_named(t, second, "match_work_time", MPI_T_PVAR_CLASS_TIMER);
    MPI_T_pvar_handle sweeps = open_named(t, first, "sweeps", MPI_T_PVAR_CLASS_COUNTER);
    match_some();
    CHECK_INT(t, value_of(t, first, one), 0);
    CHECK_CALL(t, MPI_T_pvar_start(first, one));
    CHECK_CALL(t, MPI_T_pvar_start(second, other));
    CHECK_CALL(t, MPI_T_pvar_start(first, sweeps));
    match_some();
    CHECK(t, value_of(t, first, one) > 0);
    CHECK(t, value_of(t, second, other) > 0);
    CHECK(t, value_of(t, first, sweeps) > 0);
    // One handle goes: it is counted for the other one still.
    CHECK_CALL(t, MPI_T_pvar_handle_free(first, &one));
    const uint64_t before = value_of(t, second, other);
    match_some();
    CHECK(t, value_of(t, second, other) > before);
    CHECK_CALL(t, MPI_T_pvar_stop(second, other));
    const uint64_t stopped = value_of(t, second, other);
    match_some();
    CHECK_INT(t, value_of(t, second, other), stopped);
    CHECK_CALL(t, MPI_T_pvar_session_free(&second));
    CHECK_CALL(t, MPI_T_pvar_session_free(&first));
}

// MPI_Pcontrol is there for tools that replace it: no level changes what the library does or
// counts.
static void check_profile_levels(struct check* t)
{
    MPI_T_pvar_session session;
    CHECK_CALL(t, MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle sent =
        open_handle(t, session, find(t, "messages_sent", MPI_T_PVAR_CLASS_COUNTER));
    CHECK_CALL(t, MPI_T_pvar_start(session, sent));
    static const int levels[] = {0, 1, 2, -1, 0};
    for (int i = 0; i < 5; ++i) {
        CHECK_CALL(t, MPI_Pcontrol(levels[i], "arguments", 1.5));
        ring(t, messages);
        CHECK_INT(t, value_of(t, session, sent), (i + 1) * messages);
    }
    CHECK_CALL(t, MPI_Pcontrol(1));
    CHECK_CALL(t, MPI_T_pvar_session_free(&session));
}

static int test_main(void)
{
    struct check t = check_start("performance_variables");
    int provided;
    CHECK_CALL(&t, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    check_list(&t);
    unposted(&t);
    if (t.size > 1)
        check_counting(&t);
    if (t.size > 1)
        check_profile_levels(&t);
    check_levels(&t);
    check_queues_in_turn(&t);
    check_match_time(&t);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(&t, MPI_T_finalize());
    return check_finish(&t);
}
