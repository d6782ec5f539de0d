// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: threads of each rank send and receive at once, on tags of their own, on a
// communicator of their own, and in collectives on it; one thread waits for what another sends.
#define CHECK_OWN_INIT
#include <pthread.h>
#include "../check.h"

enum { thread_count = 4, rounds = 200, large_bytes = 70000 };

struct worker {
    struct check check;
    MPI_Comm comm;
    int number;
};

static void ring(struct check* t, int number, int round)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    const int out = number * 1000000 + round * 100 + t->rank;
    int in = -1;
    MPI_Request requests[2];
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, from, number, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPI_Isend(&out, 1, MPI_INT, to, number, MPI_COMM_WORLD, &requests[1]));
    CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(t, in, number * 1000000 + round * 100 + from);
}

static void large(struct worker* w)
{
    struct check* t = &w->check;
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    unsigned char *out = check_memory(large_bytes), *in = check_memory(large_bytes);
    check_fill(out, large_bytes, (uint64_t)(t->rank * 16 + w->number));
    CHECK_CALL(t, MPI_Sendrecv(out, large_bytes, MPI_BYTE, to, 50, in, large_bytes, MPI_BYTE, from,
                               50, w->comm, MPI_STATUS_IGNORE));
    CHECK_PATTERN(t, in, large_bytes, (uint64_t)(from * 16 + w->number));
    free(in);
    free(out);
}

static void* work(void* argument)
{
    struct worker* w = argument;
    struct check* t = &w->check;
    int is_main = 1;
    CHECK_CALL(t, MPI_Is_thread_main(&is_main));
    CHECK_INT(t, is_main, 0);
    for (int round = 0; round < rounds; ++round) {
        int sum = 0;
        ring(t, w->number, round);
        if (round % 20 == 0)
            large(w);
        if (round % 10 != 0)
            continue;
        CHECK_CALL(t, MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, w->comm));
        CHECK_INT(t, sum, round * t->size);
    }
    return NULL;
}

// A blocked receive of one thread is served by a send of another thread of the same rank.
static void* receive_from_self(void* argument)
{
    struct check* t = argument;
    int in = -1;
    CHECK_CALL(t, MPI_Recv(&in, 1, MPI_INT, t->rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(t, in, 4711);
    return NULL;
}

static void across_threads(struct check* t)
{
    pthread_t thread;
    struct check mine = *t;
    const int out = 4711;
    CHECK_INT(t, pthread_create(&thread, NULL, receive_from_self, &mine), 0);
    CHECK_CALL(t, MPI_Ssend(&out, 1, MPI_INT, t->rank, 99, MPI_COMM_WORLD));
    CHECK_INT(t, pthread_join(thread, NULL), 0);
    t->checks = mine.checks;
    t->failures += mine.failures;
}

static int test_main(void)
{
    int provided = -1;
    const int started = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("threads");
    struct worker workers[thread_count];
    pthread_t threads[thread_count];
    CHECK_INT(&t, started, MPI_SUCCESS);
    if (CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE)) {
        for (int i = 0; i < thread_count; ++i) {
            workers[i].check = t;
            workers[i].check.failures = 0;
            workers[i].number = i;
            CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm));
        }
        for (int i = 0; i < thread_count; ++i) {
            CHECK_INT(&t, pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < thread_count; ++i) {
            CHECK_INT(&t, pthread_join(threads[i], NULL), 0);
            t.checks += workers[i].check.checks;
            t.failures += workers[i].check.failures;
            CHECK_CALL(&t, MPI_Comm_free(&workers[i].comm));
        }
        across_threads(&t);
    }
    CHECK_CALL(&t, MPI_Finalize());
    return check_finish(&t);
}
