// SPDX-License-Identifier: Apache-2.0
// One sync object and several threads of a rank: each event goes to one of those that ask; threads
// wait for all while others attach; some attach to complete requests while others take.
#define CHECK_OWN_INIT
#include <mpi-ext.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../check.h"

enum { readers = 4, waiters = 3, window = 250, rounds = 40, stop_tag = 9999 };

struct shared {
    MPIX_Sync sync;
    MPI_Comm comm;
    _Atomic long left;      // events that nobody has taken; relaxed: only its end counts
    _Atomic char* taken;    // by cookie, how often; relaxed: read after the threads are joined
    _Atomic int attaching;  // somebody still attaches; relaxed: likewise
};

struct worker {
    struct check check;
    struct shared* shared;
    int number;
};

static void run(struct check* t, struct shared* shared, int count, void* (*body)(void*))
{
    struct worker workers[readers + waiters];
    pthread_t threads[readers + waiters];
    for (int i = 0; i < count; ++i) {
        workers[i] = (struct worker){*t, shared, i};
        workers[i].check.checks = workers[i].check.failures = 0;
        CHECK_INT(t, pthread_create(&threads[i], NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < count; ++i) {
        CHECK_INT(t, pthread_join(threads[i], NULL), 0);
        t->checks += workers[i].check.checks;
        t->failures += workers[i].check.failures;
    }
}

static void note_taken(struct worker* w, void* cookie)
{
    struct shared* s = w->shared;
    const long number = (long)(intptr_t)cookie;
    if (CHECK(&w->check, number >= 0 && number < window)) {
        atomic_fetch_add_explicit(&s->taken[number], 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&s->left, 1, memory_order_relaxed);
    }
}

// Half of the threads take events one by one, the others in groups.
static void* take(void* argument)
{
    struct worker* w = argument;
    struct shared* s = w->shared;
    while (atomic_load_explicit(&s->left, memory_order_relaxed) > 0) {
        if (w->number % 2 == 0) {
            void* const cookie = MPIX_Sync_query(s->sync, MPI_STATUS_IGNORE);
            if (cookie != MPIX_SYNC_EMPTY)
                note_taken(w, cookie);
        } else {
            void* cookies[7];
            int count = -1;
            CHECK_CALL(&w->check,
                       MPIX_Sync_query_bulk(7, s->sync, &count, cookies, MPI_STATUSES_IGNORE));
            for (int i = 0; i < count; ++i)
                note_taken(w, cookies[i]);
        }
    }
    return NULL;
}

// Receives from the rank before, sends to the next one: all of a round are attached before any is
// taken, so that every reader meets many.
static void many_readers(struct check* t, struct shared* s, long events)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    int numbers[window];  // received at even places, sent from odd ones
    for (long done = 0; done < events; done += window) {
        for (int i = 0; i < window; ++i) {
            MPI_Request request;
            const int half = i / 2;
            numbers[i] = i % 2 == 0 ? -1 : half;
            if (i % 2 == 0)
                CHECK_CALL(t, MPI_Irecv(&numbers[i], 1, MPI_INT, from, half, s->comm, &request));
            else
                CHECK_CALL(t, MPI_Isend(&numbers[i], 1, MPI_INT, to, half, s->comm, &request));
            CHECK_CALL(t, MPIX_Sync_attach(s->sync, &request, (void*)(intptr_t)i));
            atomic_store_explicit(&s->taken[i], 0, memory_order_relaxed);
        }
        atomic_store_explicit(&s->left, window, memory_order_relaxed);
        run(t, s, readers, take);
        for (int i = 0; i < window; ++i) {
            CHECK_INT(t, atomic_load_explicit(&s->taken[i], memory_order_relaxed), 1);
            if (i % 2 == 0)
                CHECK_INT(t, numbers[i], i / 2);
        }
    }
    CHECK_INT(t, MPIX_Sync_size(s->sync), 0);
    CHECK_INT(t, MPIX_Sync_probe(s->sync), 0);
}

// Waiters wait for all again and again; thread 0 attaches, and lets some messages go only later.
static void* wait_or_attach(void* argument)
{
    struct worker* w = argument;
    struct check* t = &w->check;
    struct shared* s = w->shared;
    if (w->number > 0) {
        while (atomic_load_explicit(&s->attaching, memory_order_relaxed) != 0)
            CHECK_CALL(t, MPIX_Sync_waitall(s->sync));
        CHECK_CALL(t, MPIX_Sync_waitall(s->sync));
        return NULL;
    }
    int in[8];
    for (int round = 0; round < rounds; ++round) {
        MPI_Request requests[8];
        for (int i = 0; i < 8; ++i) {
            CHECK_CALL(t, MPI_Irecv(&in[i], 1, MPI_INT, t->rank, i, s->comm, &requests[i]));
            CHECK_CALL(t, MPIX_Sync_attach(s->sync, &requests[i],
                                           i % 2 == 0 ? MPIX_SYNC_NO_COMPLETION_DATA : &in[i]));
        }
        if (round % 3 == 0)
            CHECK_CALL(t, MPIX_Sync_detach(s->sync, &requests[7]));
        for (int i = 0; i < 8; ++i)
            CHECK_CALL(t, MPI_Ssend(&i, 1, MPI_INT, t->rank, i, s->comm));
        if (round % 3 == 0)
            CHECK_CALL(t, MPI_Wait(&requests[7], MPI_STATUS_IGNORE));
        CHECK_CALL(t, MPIX_Sync_waitall(s->sync));
        for (int taken = 0; taken < (round % 3 == 0 ? 3 : 4); ++taken)
            CHECK(t, MPIX_Sync_query(s->sync, MPI_STATUS_IGNORE) != MPIX_SYNC_EMPTY);
        for (int i = 0; i < 8; ++i)
            CHECK_INT(t, in[i], i);
    }
    atomic_store_explicit(&s->attaching, 0, memory_order_relaxed);
    return NULL;
}

// Threads sleep in MPIX_Sync_waitall while the message that ends it comes from another rank.
static void* wait_only(void* argument)
{
    struct worker* w = argument;
    CHECK_CALL(&w->check, MPIX_Sync_waitall(w->shared->sync));
    return NULL;
}

static void wait_for_a_rank(struct check* t, struct shared* s)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    int in = -1;
    MPI_Request request;
    for (int round = 0; round < rounds; ++round) {
        CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, from, stop_tag, s->comm, &request));
        CHECK_CALL(t, MPIX_Sync_attach(s->sync, &request, MPIX_SYNC_NO_COMPLETION_DATA));
        if (round % t->size == t->rank)
            CHECK_CALL(t, MPI_Send(&round, 1, MPI_INT, to, stop_tag, s->comm));
        run(t, s, waiters, wait_only);
        CHECK_INT(t, in, round);
        if (round % t->size != t->rank)
            CHECK_CALL(t, MPI_Send(&round, 1, MPI_INT, to, stop_tag, s->comm));
    }
}

static int test_main(void)
{
    int provided = -1;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("extension/sync_threads");
    struct shared s = {.sync = MPIX_SYNC_NULL};
    CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE);
    s.taken = check_memory(window);
    CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &s.comm));
    CHECK_CALL(&t, MPIX_Sync_init(&s.sync));
    many_readers(&t, &s, check_setting("CHECK_EVENTS", 5000));
    atomic_store_explicit(&s.attaching, 1, memory_order_relaxed);
    run(&t, &s, 1 + waiters, wait_or_attach);
    wait_for_a_rank(&t, &s);
    CHECK_CALL(&t, MPIX_Sync_free(&s.sync));
    CHECK_CALL(&t, MPI_Comm_free(&s.comm));
    free((void*)s.taken);
    const int failures = check_finish(&t);
    MPI_Finalize();
    return failures != 0;
}
