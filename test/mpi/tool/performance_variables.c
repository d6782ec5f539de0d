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

static int test_main(void)
{
    struct check t = check_start("performance_variables");
    int provided;
    CHECK_CALL(&t, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    check_list(&t);
    if (t.size > 1)
        check_counting(&t);
    check_levels(&t);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(&t, MPI_T_finalize());
    return check_finish(&t);
}
