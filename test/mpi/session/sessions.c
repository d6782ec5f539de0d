// SPDX-License-Identifier: Apache-2.0
// Sessions beside MPI_COMM_WORLD: process sets, groups and communicators made from them, hints read
// back, error handlers, buffers for sends in buffered mode.
#include "../check.h"

#include <ctype.h>

enum { text_bytes = 128 };

static int is_same(const char* left, const char* right)
{
    while (*left != '\0' && tolower((unsigned char)*left) == tolower((unsigned char)*right)) {
        ++left;
        ++right;
    }
    return *left == *right;
}

// Whether the set is named, and its length told and cut as asked for.
static void check_sets(struct check* t, MPI_Session session)
{
    int count = 0, found = 0;
    CHECK_CALL(t, MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
    CHECK(t, count >= 2);
    for (int i = 0; i < count; ++i) {
        int needed = 0, given = text_bytes, cut = 4;
        char name[text_bytes] = "", start[4] = "";
        CHECK_CALL(t, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &needed, NULL));
        CHECK_CALL(t, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &given, name));
        CHECK_INT(t, needed, (int)strlen(name) + 1);
        CHECK_CALL(t, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &cut, start));
        CHECK(t, strncmp(start, name, 3) == 0 && start[3] == '\0');
        found += is_same(name, "mpi://WORLD") || is_same(name, "mpi://SELF");
        MPI_Info facts;
        CHECK_CALL(t, MPI_Session_get_pset_info(session, name, &facts));
        int length = text_bytes, flag = 0;
        char size[text_bytes] = "";
        CHECK_CALL(t, MPI_Info_get_string(facts, "mpi_size", &length, size, &flag));
        CHECK_INT(t, flag, 1);
        if (is_same(name, "mpi://WORLD"))
            CHECK_INT(t, atoi(size), t->size);
        if (is_same(name, "mpi://SELF"))
            CHECK_INT(t, atoi(size), 1);
        CHECK_CALL(t, MPI_Info_free(&facts));
    }
    CHECK_INT(t, found, 2);
}

static MPI_Comm comm_of_set(struct check* t, MPI_Session session, const char* set, const char* tag)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_CALL(t, MPI_Group_from_session_pset(session, set, &group));
    CHECK_CALL(t, MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK_CALL(t, MPI_Group_free(&group));
    return comm;
}

static void check_communicators(struct check* t, MPI_Session session)
{
    MPI_Comm all = comm_of_set(t, session, "mpi://WORLD", "org.test.all");
    MPI_Comm own = comm_of_set(t, session, "mpi://SELF", "org.test.own");
    int size = 0, rank = -1, sum = 0, one = 1, result = -1;
    MPI_Comm_size(all, &size);
    MPI_Comm_rank(all, &rank);
    CHECK_INT(t, size, t->size);
    CHECK_INT(t, rank, t->rank);
    MPI_Comm_size(own, &size);
    CHECK_INT(t, size, 1);
    CHECK_CALL(t, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK_INT(t, sum, t->size);
    CHECK_CALL(t, MPI_Comm_compare(all, MPI_COMM_WORLD, &result));
    CHECK_INT(t, result, MPI_CONGRUENT);
    // The error handler is that of the call.
    MPI_Errhandler handler;
    CHECK_CALL(t, MPI_Comm_get_errhandler(all, &handler));
    CHECK(t, handler == MPI_ERRORS_RETURN);

    // Messages of two communicators with the same ranks and tags do not meet.
    MPI_Comm other = comm_of_set(t, session, "mpi://WORLD", "org.test.other");
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    int in[2] = {0, 0}, out[2] = {t->rank + 100, t->rank + 200};
    MPI_Request requests[4];
    MPI_Irecv(&in[0], 1, MPI_INT, from, 7, all, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, from, 7, other, &requests[1]);
    MPI_Isend(&out[1], 1, MPI_INT, to, 7, other, &requests[2]);
    MPI_Isend(&out[0], 1, MPI_INT, to, 7, all, &requests[3]);
    CHECK_CALL(t, MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(t, in[0], from + 100);
    CHECK_INT(t, in[1], from + 200);

    // Parts of a group at a time, under one string.
    MPI_Group group, part;
    MPI_Comm pairs = MPI_COMM_NULL;
    CHECK_CALL(t, MPI_Comm_group(all, &group));
    int range[1][3] = {{t->rank % 2, t->size - 1, 2}};
    CHECK_CALL(t, MPI_Group_range_incl(group, 1, range, &part));
    CHECK_CALL(t, MPI_Comm_create_from_group(part, "org.test.part", MPI_INFO_NULL,
                                             MPI_ERRORS_ARE_FATAL, &pairs));
    CHECK_CALL(t, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, pairs));
    CHECK_INT(t, sum, (t->size + 1 - t->rank % 2) / 2);
    MPI_Group_free(&part);
    MPI_Group_free(&group);
    MPI_Comm_free(&pairs);

    // Nobody's communicator.
    MPI_Comm none = MPI_COMM_SELF;
    CHECK_CALL(t, MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "org.test.none", MPI_INFO_NULL,
                                             MPI_ERRORS_RETURN, &none));
    CHECK(t, none == MPI_COMM_NULL);
    MPI_Comm_free(&other);
    MPI_Comm_free(&own);
    MPI_Comm_free(&all);
}

static void check_between(struct check* t, MPI_Session session)
{
    if (t->size < 2)
        return;
    MPI_Group all, mine, others;
    MPI_Comm between = MPI_COMM_NULL;
    CHECK_CALL(t, MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    int first[1][3] = {{0, (t->size - 1) / 2, 1}};
    MPI_Group low, high;
    MPI_Group_range_incl(all, 1, first, &low);
    MPI_Group_range_excl(all, 1, first, &high);
    const int is_low = t->rank <= (t->size - 1) / 2;
    mine = is_low ? low : high;
    others = is_low ? high : low;
    CHECK_CALL(t, MPI_Intercomm_create_from_groups(mine, 0, others, 0, "org.test.between",
                                                   MPI_INFO_NULL, MPI_ERRORS_RETURN, &between));
    int remote = 0, want = 0, sum = 0, one = 1;
    MPI_Comm_remote_size(between, &remote);
    MPI_Group_size(others, &want);
    CHECK_INT(t, remote, want);
    CHECK_CALL(t, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between));
    CHECK_INT(t, sum, want);
    MPI_Comm_free(&between);
    MPI_Group_free(&low);
    MPI_Group_free(&high);
    MPI_Group_free(&all);
}

static void check_hints(struct check* t)
{
    static const char* const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                         "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
    MPI_Info info, used;
    MPI_Session session;
    CHECK_CALL(t, MPI_Info_create(&info));
    CHECK_CALL(t, MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE"));
    CHECK_CALL(t, MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,none_such"));
    CHECK_CALL(t, MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK_CALL(t, MPI_Session_get_info(session, &used));
    char value[text_bytes] = "";
    int length = text_bytes, flag = 0, known = 0;
    CHECK_CALL(t, MPI_Info_get_string(used, "thread_level", &length, value, &flag));
    CHECK_INT(t, flag, 1);
    for (int i = 0; i < 4; ++i)
        known += strcmp(value, levels[i]) == 0;
    CHECK_INT(t, known, 1);
    length = text_bytes;
    CHECK_CALL(t, MPI_Info_get_string(used, "mpi_memory_alloc_kinds", &length, value, &flag));
    CHECK_INT(t, flag, 1);
    CHECK(t, strstr(value, "system") != NULL && strstr(value, "mpi") != NULL);
    CHECK(t, strstr(value, "none_such") == NULL);
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    CHECK_CALL(t, MPI_Session_finalize(&session));
    CHECK(t, session == MPI_SESSION_NULL);
}

struct told {
    int code;
    int times;
    MPI_Session session;
};

// A callback has no argument of the user's: each rank finds its record by its thread.
static _Thread_local struct told* told_here;

static void on_error(MPI_Session* session, int* code, ...)
{
    told_here->session = *session;
    told_here->code = check_error_class(*code);
    ++told_here->times;
}

static void check_handlers(struct check* t)
{
    struct told told = {0, 0, MPI_SESSION_NULL};
    told_here = &told;
    MPI_Errhandler handler, found;
    MPI_Session session;
    MPI_Group group = MPI_GROUP_NULL;
    CHECK_CALL(t, MPI_Session_create_errhandler(on_error, &handler));
    CHECK_CALL(t, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    REFUSED(t, MPI_Group_from_session_pset(session, "mpi://NONE", &group), MPI_ERR_ARG,
            MPI_ERR_UNKNOWN, MPI_ERR_OTHER, MPI_ERR_SESSION);
    CHECK_CALL(t, MPI_Session_set_errhandler(session, handler));
    CHECK_CALL(t, MPI_Session_get_errhandler(session, &found));
    CHECK(t, found == handler);
    CHECK_CALL(t, MPI_Errhandler_free(&found));
    CHECK_CALL(t, MPI_Errhandler_free(&handler));
    CHECK_CALL(t, MPI_Session_call_errhandler(session, MPI_ERR_TAG));
    CHECK_INT(t, told.times, 1);
    CHECK_INT(t, told.code, MPI_ERR_TAG);
    CHECK(t, told.session == session);
    MPI_Group_from_session_pset(session, "mpi://NONE", &group);
    CHECK_INT(t, told.times, 2);
    CHECK_CALL(t, MPI_Session_finalize(&session));
    // A handler for communicators does not suit.
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int count = 0;
    REFUSED(t, MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &count), MPI_ERR_SESSION,
            MPI_ERR_ARG);
}

static void check_buffers(struct check* t)
{
    MPI_Session session;
    CHECK_CALL(t, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MPI_Comm all = comm_of_set(t, session, "mpi://WORLD", "org.test.buffers"), dup = MPI_COMM_NULL;
    CHECK_CALL(t, MPI_Comm_dup(all, &dup));
    enum { bytes = 4000, room = 2 * (bytes + MPI_BSEND_OVERHEAD) };
    char* memory = check_memory(room);
    char* out = check_memory(bytes);
    char* in = check_memory(bytes);
    REFUSED(t, MPI_Bsend(out, 1, MPI_CHAR, t->rank, 1, dup), MPI_ERR_BUFFER);
    // MPICH allows to flush where no buffer is attached.
    if (!t->lenient)
        REFUSED(t, MPI_Session_flush_buffer(session), MPI_ERR_BUFFER);
    CHECK_CALL(t, MPI_Session_attach_buffer(session, memory, room));
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    for (int i = 0; i < 2; ++i) {
        check_fill(out, bytes, (uint64_t)(t->rank * 2 + i));
        CHECK_CALL(t, MPI_Bsend(out, bytes, MPI_CHAR, to, i, i == 0 ? all : dup));
    }
    // The buffer is the session's, no other communicator's.
    REFUSED(t, MPI_Bsend(out, 1, MPI_CHAR, to, 9, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    MPI_Request flushed;
    CHECK_CALL(t, MPI_Session_iflush_buffer(session, &flushed));
    for (int i = 0; i < 2; ++i) {
        CHECK_CALL(t,
                   MPI_Recv(in, bytes, MPI_CHAR, from, i, i == 0 ? all : dup, MPI_STATUS_IGNORE));
        CHECK_PATTERN(t, in, bytes, (uint64_t)(from * 2 + i));
    }
    CHECK_CALL(t, MPI_Wait(&flushed, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Session_flush_buffer(session));
    void* back = NULL;
    MPI_Count size = 0;
    CHECK_CALL(t, MPI_Session_detach_buffer_c(session, &back, &size));
    CHECK(t, back == memory);
    CHECK_INT(t, size, room);
    int narrow = 0;
    CHECK_CALL(t, MPI_Session_attach_buffer_c(session, memory, room));
    CHECK_CALL(t, MPI_Session_detach_buffer(session, &back, &narrow));
    CHECK(t, back == memory && narrow == room);
    free(memory);
    free(out);
    free(in);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&all);
    CHECK_CALL(t, MPI_Session_finalize(&session));
}

static int test_main(void)
{
    struct check t = check_start("sessions");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Session first, second;
    CHECK_CALL(&t, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first));
    CHECK_CALL(&t, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
    CHECK(&t, first != second);
    CHECK(&t, MPI_Session_fromint(MPI_Session_toint(first)) == first);
    check_sets(&t, first);
    check_communicators(&t, first);
    check_between(&t, second);
    CHECK_CALL(&t, MPI_Session_finalize(&first));
    check_communicators(&t, second);
    CHECK_CALL(&t, MPI_Session_finalize(&second));
    check_hints(&t);
    check_handlers(&t);
    check_buffers(&t);
    return check_finish(&t);
}
