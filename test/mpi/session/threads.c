// SPDX-License-Identifier: Apache-2.0
// Two libraries in one rank, each with a session and a thread of its own: they open, use and close
// them at the same time, and know nothing of each other.
#define CHECK_OWN_INIT
#include "../check.h"

#include <pthread.h>

enum { libraries = 2, rounds = 20 };

struct library {
    int index;
    struct check check;
};

static void* run(void* argument)
{
    struct library* own = argument;
    struct check* t = &own->check;
    for (int round = 0; round < rounds; ++round) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm;
        char tag[32];
        snprintf(tag, sizeof tag, "library %d", own->index);
        CHECK_CALL(t, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
        CHECK_CALL(t, MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
        CHECK_CALL(t,
                   MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        MPI_Group_free(&group);
        int size = 0, sum = 0, given = own->index + round;
        MPI_Comm_size(comm, &size);
        MPI_Comm_rank(comm, &t->rank);
        CHECK_CALL(t, MPI_Allreduce(&given, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_INT(t, sum, size * given);
        CHECK_CALL(t, MPI_Comm_disconnect(&comm));
        CHECK_CALL(t, MPI_Session_finalize(&session));
    }
    return NULL;
}

static int test_main(void)
{
    struct library each[libraries];
    pthread_t threads[libraries];
    for (int i = 0; i < libraries; ++i) {
        each[i] = (struct library){i, {"session_threads", -1, 0, 0, 0, 0, 0}};
        if (pthread_create(&threads[i], NULL, run, &each[i]) != 0)
            return 1;
    }
    struct check all = {"session_threads", -1, 0, 0, 0, 0, 0};
    for (int i = 0; i < libraries; ++i) {
        pthread_join(threads[i], NULL);
        all.rank = each[i].check.rank;
        all.checks += each[i].check.checks;
        all.failures += each[i].check.failures;
    }
    return check_finish(&all);
}
