// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: several threads make partitions of one send ready, each those of its own,
// one by one, as ranges and as lists, and ask one receive which of its partitions have arrived. The
// main thread waits for both requests meanwhile, or asks for partitions, too, and waits then.
#define CHECK_OWN_INIT
#include <pthread.h>
#include <sched.h>
#include "../check.h"

enum { thread_count = 4, rounds = 6, tag = 3 };

struct shape {
    int send_partitions, send_count, receive_partitions, receive_count, stride;
};

struct exchange {
    struct shape shape;
    MPI_Request sent, received;
    int* in;
    int from, round;
};

struct worker {
    struct check check;
    const struct exchange* exchange;
    int number;
};

static int value_of(int rank, int round, int element)
{
    return rank * 1000003 + round * 7919 + element;
}

// Threads take turns by partition, but where ranges are made ready: these are consecutive.
static void make_ready(struct worker* w)
{
    const struct exchange* e = w->exchange;
    const int count = e->shape.send_partitions;
    const int begin = count * w->number / thread_count;
    const int end = count * (w->number + 1) / thread_count;
    int list[256], listed = 0;
    switch (e->round % 3) {
        case 0:
            for (int i = w->number; i < count; i += thread_count)
                CHECK_CALL(&w->check, MPI_Pready(i, e->sent));
            break;
        case 1:
            if (begin < end)
                CHECK_CALL(&w->check, MPI_Pready_range(begin, end - 1, e->sent));
            break;
        default:
            for (int i = count - 1 - w->number; i >= 0; i -= thread_count)
                list[listed++] = i;
            CHECK_CALL(&w->check, MPI_Pready_list(listed, list, e->sent));
    }
}

// All threads ask for all partitions, from places of their own on.
static void await_partitions(struct check* t, const struct exchange* e, int number)
{
    const int count = e->shape.receive_partitions;
    for (int step = 0; step < count; ++step) {
        const int i = (step + count * number / thread_count) % count;
        int flag = 0;
        for (;;) {
            if (!CHECK_CALL(t, MPI_Parrived(e->received, i, &flag)))
                return;
            if (flag)
                break;
            sched_yield();  // there are more threads than cores
        }
        const int first = i * e->shape.receive_count;
        const int last = first + e->shape.receive_count - 1;
        CHECK_INT(t, e->in[first * e->shape.stride], value_of(e->from, e->round, first));
        CHECK_INT(t, e->in[last * e->shape.stride], value_of(e->from, e->round, last));
    }
}

static void* work(void* argument)
{
    struct worker* w = argument;
    make_ready(w);
    await_partitions(&w->check, w->exchange, w->number);
    return NULL;
}

static void run_round(struct check* t, struct exchange* e, int* out, int total)
{
    struct worker workers[thread_count];
    pthread_t threads[thread_count];
    MPI_Request requests[2] = {e->sent, e->received};
    MPI_Status statuses[2];
    int wrong = 0, count = 0;
    memset(e->in, 0xff, sizeof(int) * (size_t)(total * e->shape.stride));
    for (int i = 0; i < total; ++i)
        out[i * e->shape.stride] = value_of(t->rank, e->round, i);
    CHECK_CALL(t, MPI_Startall(2, requests));
    for (int i = 0; i < thread_count; ++i) {
        workers[i] = (struct worker){.check = *t, .exchange = e, .number = i};
        workers[i].check.checks = workers[i].check.failures = 0;
        CHECK_INT(t, pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    if (e->round % 2 == 0)
        await_partitions(t, e, 0);
    CHECK_CALL(t, MPI_Waitall(2, requests, statuses));
    for (int i = 0; i < total; ++i)
        wrong += e->in[i * e->shape.stride] != value_of(e->from, e->round, i);
    for (int i = 0; i < thread_count; ++i) {
        CHECK_INT(t, pthread_join(threads[i], NULL), 0);
        t->checks += workers[i].check.checks;
        t->failures += workers[i].check.failures;
    }
    CHECK_INT(t, wrong, 0);
    CHECK_CALL(t, MPI_Get_count(&statuses[1], MPI_INT, &count));
    CHECK_INT(t, count, total);
    CHECK(t, requests[0] == e->sent && requests[1] == e->received);
}

static void exchange(struct check* t, const struct shape* shape)
{
    const int total = shape->send_partitions * shape->send_count;
    const size_t bytes = sizeof(int) * (size_t)(total * shape->stride);
    const int to = (t->rank + 1) % t->size;
    int* const out = check_memory(bytes);
    struct exchange e = {
        .shape = *shape, .in = check_memory(bytes), .from = (t->rank + t->size - 1) % t->size};
    MPI_Datatype type;
    CHECK_CALL(t,
               MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * shape->stride, &type));
    CHECK_CALL(t, MPI_Type_commit(&type));
    CHECK_CALL(t, MPI_Psend_init(out, shape->send_partitions, shape->send_count, type, to, tag,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &e.sent));
    CHECK_CALL(t, MPI_Precv_init(e.in, shape->receive_partitions, shape->receive_count, type,
                                 e.from, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &e.received));
    for (; e.round < rounds; ++e.round)
        run_round(t, &e, out, total);
    CHECK_CALL(t, MPI_Request_free(&e.sent));
    CHECK_CALL(t, MPI_Request_free(&e.received));
    CHECK_CALL(t, MPI_Type_free(&type));
    free(e.in);
    free(out);
}

static int test_main(void)
{
    // One message of the library's and many, partitions that share one, gaps between elements.
    static const struct shape shapes[] = {
        {8, 1, 4, 2, 1}, {64, 512, 64, 512, 1}, {48, 1000, 5, 9600, 1}, {200, 64, 32, 400, 3}};
    int provided = -1;
    const int started = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("partitioned_threads");
    CHECK_INT(&t, started, MPI_SUCCESS);
    CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        exchange(&t, &shapes[i]);
    CHECK_CALL(&t, MPI_Finalize());
    return check_finish(&t);
}
