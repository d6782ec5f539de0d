// SPDX-License-Identifier: Apache-2.0
// Threads of a rank that wait at once: each for a message of its own, sent in another order; one in
// a probe; in a call that a callback makes; for windows of messages from each other. Nobody is left
// asleep, whoever of them leaves first.
#define CHECK_OWN_INIT
#include <pthread.h>
#include "../check.h"

enum {
    thread_count = 8,
    rounds = 25,
    window = 64,
    windows = 20,
    probe_tag = 900,
    nested_tag = 901
};

struct waiter {
    struct check check;
    MPI_Comm comm;
    int number;
};

static void* wait_for_own(void* argument)
{
    struct waiter* w = argument;
    struct check* t = &w->check;
    int in = -1;
    MPI_Request requests[2];
    if (w->number % 2 == 0) {
        CHECK_CALL(t, MPI_Recv(&in, 1, MPI_INT, t->rank, w->number, w->comm, MPI_STATUS_IGNORE));
    } else {
        int unused, index = -1;
        CHECK_CALL(
            t, MPI_Irecv(&unused, 1, MPI_INT, t->rank, 1000 + w->number, w->comm, &requests[0]));
        CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, t->rank, w->number, w->comm, &requests[1]));
        CHECK_CALL(t, MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
        CHECK_INT(t, index, 1);
        CHECK_CALL(t, MPI_Cancel(&requests[0]));
        CHECK_CALL(t, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
    CHECK_INT(t, in, w->number);
    return NULL;
}

static void* probe(void* argument)
{
    struct waiter* w = argument;
    struct check* t = &w->check;
    MPI_Status status;
    int in = -1;
    CHECK_CALL(t, MPI_Probe(t->rank, probe_tag, w->comm, &status));
    CHECK_INT(t, status.MPI_TAG, probe_tag);
    CHECK_CALL(t, MPI_Recv(&in, 1, MPI_INT, t->rank, probe_tag, w->comm, MPI_STATUS_IGNORE));
    CHECK_INT(t, in, probe_tag);
    return NULL;
}

// Called inside MPI_Comm_free, with the rank's other threads waiting.
static int exchange_in_callback(MPI_Comm comm, int key, void* value, void* extra)
{
    struct waiter* w = value;
    int out = 5, in = -1;
    (void)comm, (void)key, (void)extra;
    CHECK_CALL(&w->check, MPI_Sendrecv(&out, 1, MPI_INT, w->check.rank, nested_tag, &in, 1, MPI_INT,
                                       w->check.rank, nested_tag, w->comm, MPI_STATUS_IGNORE));
    CHECK_INT(&w->check, in, 5);
    return MPI_SUCCESS;
}

static void* wait_in_callback(void* argument)
{
    struct waiter* w = argument;
    struct check* t = &w->check;
    MPI_Comm own;
    int key;
    CHECK_CALL(t, MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, exchange_in_callback, &key, NULL));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_SELF, &own));
    CHECK_CALL(t, MPI_Comm_set_attr(own, key, w));
    CHECK_CALL(t, MPI_Comm_free(&own));
    CHECK_CALL(t, MPI_Comm_free_keyval(&key));
    return NULL;
}

static void finish(struct check* t, struct waiter* waiters, pthread_t* threads, int count)
{
    for (int i = 0; i < count; ++i) {
        CHECK_INT(t, pthread_join(threads[i], NULL), 0);
        t->checks += waiters[i].check.checks;
        t->failures += waiters[i].check.failures;
    }
}

static void start(struct check* t, struct waiter* w, pthread_t* thread, MPI_Comm comm, int number,
                  void* (*body)(void*))
{
    *w = (struct waiter){*t, comm, number};
    w->check.checks = 0;
    w->check.failures = 0;
    CHECK_INT(t, pthread_create(thread, NULL, body, w), 0);
}

static void all_at_once(struct check* t, MPI_Comm comm, int round)
{
    struct waiter waiters[thread_count + 2];
    pthread_t threads[thread_count + 2];
    for (int i = 0; i < thread_count; ++i)
        start(t, &waiters[i], &threads[i], comm, i, wait_for_own);
    start(t, &waiters[thread_count], &threads[thread_count], comm, 0, probe);
    start(t, &waiters[thread_count + 1], &threads[thread_count + 1], comm, 0, wait_in_callback);
    for (int i = 0; i < thread_count; ++i) {
        const int number = (3 * i + round) % thread_count;
        if (round % 2 == 0)
            CHECK_CALL(t, MPI_Ssend(&number, 1, MPI_INT, t->rank, number, comm));
        else
            CHECK_CALL(t, MPI_Send(&number, 1, MPI_INT, t->rank, number, comm));
        if (i == thread_count / 2) {
            const int last = probe_tag;
            CHECK_CALL(t, MPI_Send(&last, 1, MPI_INT, t->rank, probe_tag, comm));
        }
    }
    finish(t, waiters, threads, thread_count + 2);
}

// Even threads send, odd ones receive, each pair with tags of its own.
static void* stream(void* argument)
{
    struct waiter* w = argument;
    struct check* t = &w->check;
    const int tag = w->number / 2;
    const int next = (t->rank + 1) % t->size, before = (t->rank + t->size - 1) % t->size;
    MPI_Request requests[window];
    int words[window];
    for (int round = 0; round < windows; ++round) {
        for (int i = 0; i < window; ++i) {
            words[i] = w->number % 2 == 0 ? round * window + i : -1;
            if (w->number % 2 == 0)
                CHECK_CALL(t, MPI_Isend(&words[i], 1, MPI_INT, next, tag, w->comm, &requests[i]));
            else
                CHECK_CALL(t, MPI_Irecv(&words[i], 1, MPI_INT, before, tag, w->comm, &requests[i]));
        }
        CHECK_CALL(t, MPI_Waitall(window, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; w->number % 2 != 0 && i < window; ++i)
            CHECK_INT(t, words[i], round * window + i);
    }
    return NULL;
}

static void all_stream(struct check* t, MPI_Comm comm)
{
    struct waiter waiters[thread_count];
    pthread_t threads[thread_count];
    for (int i = 0; i < thread_count; ++i)
        start(t, &waiters[i], &threads[i], comm, i, stream);
    finish(t, waiters, threads, thread_count);
}

static int test_main(void)
{
    int provided = -1;
    const int started = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("thread_waits");
    CHECK_INT(&t, started, MPI_SUCCESS);
    if (CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE)) {
        MPI_Comm comm;
        CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int round = 0; round < rounds; ++round)
            all_at_once(&t, comm, round);
        all_stream(&t, comm);
        CHECK_CALL(&t, MPI_Comm_free(&comm));
    }
    CHECK_CALL(&t, MPI_Finalize());
    return check_finish(&t);
}
