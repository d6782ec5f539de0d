// SPDX-License-Identifier: Apache-2.0
// Several threads of a rank call MPI_Comm_create_group at once; tags keep their groups apart.
#define CHECK_OWN_INIT
#include "../check.h"

#include <pthread.h>

enum { threads = 4, turns = 25 };

struct worker {
    MPI_Group group;
    int index;
    int size;
    int wrong;
};

static void* make_communicators(void* argument)
{
    struct worker* self = argument;
    for (int turn = 0; turn < turns; ++turn) {
        MPI_Comm made;
        int sum = -1;
        if (MPI_Comm_create_group(MPI_COMM_WORLD, self->group, 10 + self->index, &made) !=
                MPI_SUCCESS ||
            MPI_Allreduce(&self->index, &sum, 1, MPI_INT, MPI_SUM, made) != MPI_SUCCESS) {
            ++self->wrong;
            return NULL;
        }
        // Threads of different tags that met would add up to something else.
        self->wrong += sum != self->index * self->size;
        MPI_Comm_free(&made);
    }
    return NULL;
}

static int test_main(void)
{
    int provided = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("create_threads");
    CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE);
    struct worker workers[threads];
    pthread_t handles[threads];
    MPI_Group world;
    CHECK_CALL(&t, MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < threads; ++i) {
        workers[i] = (struct worker){world, i, t.size, 0};
        CHECK_INT(&t, pthread_create(&handles[i], NULL, make_communicators, &workers[i]), 0);
    }
    for (int i = 0; i < threads; ++i) {
        CHECK_INT(&t, pthread_join(handles[i], NULL), 0);
        CHECK_INT(&t, workers[i].wrong, 0);
    }
    CHECK_CALL(&t, MPI_Group_free(&world));
    const int failures = check_finish(&t);
    MPI_Finalize();
    return failures;
}
