// SPDX-License-Identifier: Apache-2.0
// The driver runs this under callgrind, which counts what some functions do and nothing else. As
// many repetitions as --work says, of one case:
// "8 B": messages that have arrived before MPI_Recv asks for them. One rank sends to itself; of
// two, rank 0 sends some, then rank 1, told so by shared memory, receives them. "Ibcast",
// "Iallreduce", "persistent Bcast", "persistent Allreduce": of 8 bytes, started by rank 1 and then
// by rank 0, which is the root.
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

// So few that every library takes them without waiting for the receiver.
enum { batch = 8, page = 4096, path_max = 256 };

// How many messages have been sent and received: each written by one rank, read by the other.
typedef struct {
    _Atomic long sent;
    _Atomic long received;
} Progress;

static void send_one(const Harness* harness, int to, long number)
{
    MPI_Send(&number, 1, MPI_LONG, to, 1, harness->comm);
}

static void receive_one(const Harness* harness, int from, long number)
{
    long received = -1;
    MPI_Recv(&received, 1, MPI_LONG, from, 1, harness->comm, MPI_STATUS_IGNORE);
    if (received != number)
        harness_fail(harness, "a message of 8 bytes has wrong contents");
}

static void send_to_itself(const Harness* harness, long messages)
{
    for (long number = 0; number < messages; ++number) {
        send_one(harness, harness->rank, number);
        receive_one(harness, harness->rank, number);
    }
}

// (1) acquire, pairs with (2): what the other rank did before it wrote has been done.
static void await_count(_Atomic long* count, long least)
{
    while (atomic_load_explicit(count, memory_order_acquire) < least)
        sched_yield();
}

// Processes share no memory by MPI here, so that no library does any work while a rank waits.
static void send_to_other(const Harness* harness, Progress* progress, long messages)
{
    for (long begin = 0; begin < messages; begin += batch) {
        const long end = begin + batch < messages ? begin + batch : messages;
        if (harness->rank == 0) {
            for (long number = begin; number < end; ++number)
                send_one(harness, 1, number);
            // (2) release, pairs with (1)
            atomic_store_explicit(&progress->sent, end, memory_order_release);
            await_count(&progress->received, end);
        } else {
            await_count(&progress->sent, end);
            for (long number = begin; number < end; ++number)
                receive_one(harness, 0, number);
            // (2) release, pairs with (1)
            atomic_store_explicit(&progress->received, end, memory_order_release);
        }
    }
}

typedef struct {
    long given;
    long result;
    MPI_Request request;
} Operation;

typedef void (*Start)(const Harness* harness, Operation* operation);

static void start_ibcast(const Harness* harness, Operation* operation)
{
    MPI_Ibcast(&operation->result, 1, MPI_LONG, 0, harness->comm, &operation->request);
}

static void start_iallreduce(const Harness* harness, Operation* operation)
{
    MPI_Iallreduce(&operation->given, &operation->result, 1, MPI_LONG, MPI_MAX, harness->comm,
                   &operation->request);
}

static void start_again(const Harness* harness, Operation* operation)
{
    (void)harness;
    MPI_Start(&operation->request);
}

// Each starts when the other has got as far as it always has, so that all counts are alike.
static void start_in_turn(const Harness* harness, Progress* progress, Start start,
                          Operation* operation, long operations)
{
    for (long number = 0; number < operations; ++number) {
        operation->given = number;
        // What a broadcast's root gives.
        operation->result = harness->rank == 0 ? number : -1;
        if (harness->rank == 0)
            await_count(&progress->received, number + 1);
        start(harness, operation);
        // (2) release, pairs with (1)
        atomic_store_explicit(harness->rank == 0 ? &progress->sent : &progress->received,
                              number + 1, memory_order_release);
        if (harness->rank == 1)
            await_count(&progress->sent, number + 1);
        MPI_Wait(&operation->request, MPI_STATUS_IGNORE);
        if (operation->result != number)
            harness_fail(harness, "a collective of 8 bytes has a wrong result");
    }
}

static void start_persistent(const Harness* harness, Progress* progress, Operation* operation,
                             long bcasts, long allreduces)
{
    if (bcasts != 0)
        MPI_Bcast_init(&operation->result, 1, MPI_LONG, 0, harness->comm, MPI_INFO_NULL,
                       &operation->request);
    else
        MPI_Allreduce_init(&operation->given, &operation->result, 1, MPI_LONG, MPI_MAX,
                           harness->comm, MPI_INFO_NULL, &operation->request);
    start_in_turn(harness, progress, start_again, operation, bcasts + allreduces);
    MPI_Request_free(&operation->request);
}

// A page of a file that both ranks map and that has no name any more when this returns.
static Progress* share_page(const Harness* harness)
{
    char path[path_max] = "";
    int file = -1;
    if (harness->rank == 0) {
        const char* const folder = getenv("TMPDIR");
        snprintf(path, sizeof path, "%s/headway-bench-XXXXXX", folder == NULL ? "/tmp" : folder);
        file = mkstemp(path);
        if (file < 0 || ftruncate(file, page) != 0)
            harness_fail(harness, "no file can be made in TMPDIR");
    }
    MPI_Bcast(path, path_max, MPI_CHAR, 0, harness->comm);
    FILE* const opened = harness->rank == 0 ? fdopen(file, "r+") : fopen(path, "r+");
    void* const mapped =
        opened == NULL ? MAP_FAILED
                       : mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(opened), 0);
    MPI_Barrier(harness->comm);
    if (harness->rank == 0)
        unlink(path);
    if (mapped == MAP_FAILED)
        harness_fail(harness, "a file in TMPDIR cannot be mapped");
    fclose(opened);
    return mapped;
}

int main(int argc, char** argv)
{
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    const long messages = harness_work(&harness, "8 B");
    const long ibcasts = harness_work(&harness, "Ibcast");
    const long iallreduces = harness_work(&harness, "Iallreduce");
    const long bcasts = harness_work(&harness, "persistent Bcast");
    const long allreduces = harness_work(&harness, "persistent Allreduce");
    Operation operation = {0, 0, MPI_REQUEST_NULL};
    if (harness.ranks == 1 && messages != 0) {
        send_to_itself(&harness, messages);
    } else if (harness.ranks == 2 && messages + ibcasts + iallreduces + bcasts + allreduces != 0) {
        Progress* const progress = share_page(&harness);
        if (messages != 0)
            send_to_other(&harness, progress, messages);
        else if (ibcasts != 0)
            start_in_turn(&harness, progress, start_ibcast, &operation, ibcasts);
        else if (iallreduces != 0)
            start_in_turn(&harness, progress, start_iallreduce, &operation, iallreduces);
        else
            start_persistent(&harness, progress, &operation, bcasts, allreduces);
        munmap(progress, page);
    } else {
        harness_fail(&harness,
                     "instructions needs --work '8 B=N' and 1 or 2 ranks, or 2 ranks "
                     "and --work 'Ibcast=N', 'Iallreduce=N', 'persistent Bcast=N' or 'persistent "
                     "Allreduce=N'");
    }
    return harness_end(&harness);
}
