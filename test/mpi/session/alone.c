// SPDX-License-Identifier: Apache-2.0
// Sessions without MPI_Init, one after the other, before MPI_Init, across MPI_Finalize and after
// it.
#define CHECK_OWN_INIT
#include "../check.h"

struct place {
    MPI_Comm comm;
    int rank;
    int size;
};

static struct place open_all(struct check* t, MPI_Session session, const char* tag)
{
    struct place all = {MPI_COMM_NULL, -1, 0};
    MPI_Group group;
    CHECK_CALL(t, MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CHECK_CALL(t,
               MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &all.comm));
    CHECK_CALL(t, MPI_Group_free(&group));
    MPI_Comm_rank(all.comm, &all.rank);
    MPI_Comm_size(all.comm, &all.size);
    return all;
}

// Short and long messages, a collective and a generalized request: all that a rank has running.
static void exchange(struct check* t, const struct place* all)
{
    enum { sizes = 3 };
    static const int bytes[sizes] = {8, 5000, 300000};
    const int to = (all->rank + 1) % all->size, from = (all->rank + all->size - 1) % all->size;
    for (int i = 0; i < sizes; ++i) {
        const size_t size = (size_t)bytes[i];
        char* out = check_memory(size);
        char* in = check_memory(size);
        check_fill(out, size, (uint64_t)all->rank + 40);
        CHECK_CALL(t, MPI_Sendrecv(out, bytes[i], MPI_CHAR, to, i, in, bytes[i], MPI_CHAR, from, i,
                                   all->comm, MPI_STATUS_IGNORE));
        CHECK_PATTERN(t, in, size, (uint64_t)from + 40);
        free(in);
        free(out);
    }
    int sum = 0, one = 1;
    CHECK_CALL(t, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all->comm));
    CHECK_INT(t, sum, all->size);
}

static void expect_world(struct check* t, int initialized, int finalized)
{
    int flag = -1;
    CHECK_CALL(t, MPI_Initialized(&flag));
    CHECK_INT(t, flag, initialized);
    CHECK_CALL(t, MPI_Finalized(&flag));
    CHECK_INT(t, flag, finalized);
}

static void run_session(struct check* t, const char* tag)
{
    MPI_Session session;
    CHECK_CALL(t, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    struct place all = open_all(t, session, tag);
    t->rank = all.rank;
    t->size = all.size;
    exchange(t, &all);
    // A message whose request is freed still arrives, before or after the session is gone.
    int number = 5, got = 0;
    MPI_Request request;
    MPI_Isend(&number, 1, MPI_INT, (all.rank + 1) % all.size, 3, all.comm, &request);
    MPI_Request_free(&request);
    CHECK_CALL(t, MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, all.comm, MPI_STATUS_IGNORE));
    CHECK_INT(t, got, 5);
    CHECK_CALL(t, MPI_Comm_disconnect(&all.comm));
    CHECK_CALL(t, MPI_Session_finalize(&session));
    CHECK(t, session == MPI_SESSION_NULL);
}

static int test_main(void)
{
    struct check t = {"alone", -1, 0, 0, 0, 0, 0};
    expect_world(&t, 0, 0);
    run_session(&t, "first");
    expect_world(&t, 0, 0);
    run_session(&t, "again");

    // One that is there before MPI_Init and after MPI_Finalize.
    MPI_Session session;
    CHECK_CALL(&t, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    struct place all = open_all(&t, session, "across");
    int provided = -1;
    CHECK_CALL(&t, MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided));
    // MPICH stays with what its first session had.
    if (!check_is_set("CHECK_LENIENT"))
        CHECK(&t, provided >= MPI_THREAD_SERIALIZED);
    expect_world(&t, 1, 0);
    int result = -1, sum = 0, one = 1;
    CHECK_CALL(&t, MPI_Comm_compare(all.comm, MPI_COMM_WORLD, &result));
    CHECK_INT(&t, result, MPI_CONGRUENT);
    CHECK_CALL(&t, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(&t, sum, all.size);
    exchange(&t, &all);
    CHECK_CALL(&t, MPI_Finalize());
    expect_world(&t, 1, 1);
    exchange(&t, &all);
    CHECK_CALL(&t, MPI_Comm_free(&all.comm));
    CHECK_CALL(&t, MPI_Session_finalize(&session));
    run_session(&t, "after");
    expect_world(&t, 1, 1);
    return check_finish(&t);
}
