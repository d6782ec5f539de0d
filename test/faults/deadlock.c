// SPDX-License-Identifier: Apache-2.0
// Programs in which all ranks wait for each other, and others that only look so. The argument names
// one: see deadlock_test.py. With a second one threads of a rank may all call.
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

// Every rank waits for its neighbour's message.
static void ring(void)
{
    int number = 0;
    MPI_Recv(&number, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Every rank sends first what its neighbour is to receive before it returns.
static void sends(void)
{
    static char bytes[1 << 20];
    MPI_Send(bytes, sizeof bytes, MPI_CHAR, (rank + 1) % size, 3, MPI_COMM_WORLD);
}

// One rank has forgotten the collective.
static void missing(void)
{
    if (rank != 0)
        MPI_Barrier(MPI_COMM_WORLD);
}

// The root's broadcast is too long for the shelf that the others look at.
static void lengths(void)
{
    static char bytes[2000];
    for (int i = 0; i < 5; ++i)
        MPI_Bcast(bytes, 8, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Bcast(bytes, rank == 0 ? 2000 : 8, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void waits(void)
{
    int numbers[2];
    MPI_Request requests[2];
    MPI_Irecv(&numbers[0], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&numbers[1], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void rest(int ms)
{
    poll(NULL, 0, ms);
}

// All but one wait long for a rank that computes: no deadlock.
static void slow(void)
{
    for (int round = 0; round < 3; ++round) {
        if (rank == round % size)
            rest(300);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// As above, with long messages and all ranks asleep again and again.
static void traffic(void)
{
    static char out[1 << 20], in[1 << 20];
    for (int round = 0; round < 30; ++round) {
        const int to = (rank + 1) % size, from = (rank + size - 1) % size;
        MPI_Sendrecv(out, sizeof out, MPI_CHAR, to, 0, in, sizeof in, MPI_CHAR, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == round % size)
            rest(20);
    }
}

static void* complete(void* request)
{
    rest(400);
    MPI_Grequest_complete(*(MPI_Request*)request);
    return NULL;
}

static int on_query(void* state, MPI_Status* status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int on_free(void* state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int on_cancel(void* state, int is_complete)
{
    (void)state;
    (void)is_complete;
    return MPI_SUCCESS;
}

// All ranks sleep in MPI_Wait until a thread of each completes the request.
static void threads(void)
{
    MPI_Request request, copy;
    pthread_t thread;
    MPI_Grequest_start(on_query, on_free, on_cancel, NULL, &request);
    copy = request;
    if (pthread_create(&thread, NULL, complete, &copy) != 0)
        abort();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
}

static void* receive_more(void* unused)
{
    int number = 0;
    (void)unused;
    MPI_Recv(&number, 1, MPI_INT, (rank + 1) % size, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

static pthread_t start(void* (*body)(void*), void* argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument) != 0)
        abort();
    return thread;
}

// Two threads of each rank wait for messages that nobody sends.
static void pairs(void)
{
    const pthread_t thread = start(receive_more, NULL);
    ring();
    pthread_join(thread, NULL);
}

static void* send_late(void* tag)
{
    rest(400);
    MPI_Send(&rank, 1, MPI_INT, (rank + size - 1) % size, *(int*)tag, MPI_COMM_WORLD);
    return NULL;
}

// The same, but a third thread of each, which computes, sends them both at last.
static void late(void)
{
    int tags[] = {7, 8};
    const pthread_t threads[] = {start(receive_more, NULL), start(send_late, &tags[0]),
                                 start(send_late, &tags[1])};
    ring();
    for (int i = 0; i < 3; ++i)
        pthread_join(threads[i], NULL);
}

static void* exchange(void* tag)
{
    for (int round = 0; round < 40; ++round) {
        int out = round, in = -1;
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, *(int*)tag, &in, 1, MPI_INT,
                     (rank + size - 1) % size, *(int*)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == round % size)
            rest(5);
    }
    return NULL;
}

// Threads of each rank sleep and wake each other's partners all the time.
static void exchanges(void)
{
    int tags[] = {1, 2, 3};
    const pthread_t threads[] = {start(exchange, &tags[0]), start(exchange, &tags[1])};
    exchange(&tags[2]);
    for (int i = 0; i < 2; ++i)
        pthread_join(threads[i], NULL);
}

int main(int argc, char** argv)
{
    static const struct {
        const char* name;
        void (*run)(void);
    } cases[] = {{"ring", ring},   {"sends", sends}, {"missing", missing},    {"lengths", lengths},
                 {"waits", waits}, {"slow", slow},   {"traffic", traffic},    {"threads", threads},
                 {"pairs", pairs}, {"late", late},   {"exchanges", exchanges}};
    const char* const name = argc > 1 ? argv[1] : "";
    int provided;
    MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        if (strcmp(cases[i].name, name) == 0)
            cases[i].run();
    }
    MPI_Finalize();
    printf("went on\n");
    return 0;
}
