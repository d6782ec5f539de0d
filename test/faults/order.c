// SPDX-License-Identifier: Apache-2.0
// order CASE: collective calls that differ on the last rank; "good" ones do not, in all the ways in
// which members may legally differ.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int is(const char* name, const char* wanted)
{
    return strcmp(name, wanted) == 0;
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type)
{
    (void)type;
    for (int i = 0; i < *count; ++i)
        ((int*)inout)[i] += ((int*)in)[i];
}

// The root is given another count than the others' type and count say the same bytes; v-forms have
// another block for each rank; only the root of a rooted call gives what its side needs.
static void lists(int rank, int size)
{
    int own[8] = {0}, all[64], counts[8], places[8], one[8], steps[8];
    for (int i = 0; i < 8; ++i) {
        counts[i] = i % 3;
        places[i] = 3 * i;
        one[i] = 1;
        steps[i] = i;
    }
    MPI_Gatherv(own, rank % 3, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(all, counts, places, MPI_INT, own, rank % 3, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Allgatherv(own, rank % 3, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(own, one, steps, MPI_INT, all, one, steps, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter(all, own, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(all, own, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

// Rank 0 is ahead, and uses contexts again that the others have not given up yet.
static void contexts(void)
{
    int number = 0;
    MPI_Comm comm, twin;
    MPI_Request request;
    for (int round = 0; round < 100; ++round) {
        if (round % 6 == 5) {
            MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        }
        if (round % 3 == 1)
            MPI_Bcast(&number, 1, MPI_INT, 0, comm);
        if (round % 3 == 2) {
            MPI_Comm_dup(comm, &twin);
            MPI_Comm_free(&twin);
        }
        MPI_Comm_free(&comm);
    }
}

static void good(int rank, int size)
{
    int own[8] = {0}, all[64];
    MPI_Op op;
    MPI_Comm half, twin, part;
    MPI_Request requests[2];
    for (int round = 0; round < 300; ++round)
        MPI_Bcast(own, 2, MPI_INT, round % size, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Bcast(own, 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast_c(own, 2, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(own, all, 8, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Allgather(rank == 1 ? MPI_IN_PLACE : own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    lists(rank, size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &twin);
    for (int round = 0; round <= rank % 2; ++round)
        MPI_Barrier(half);
    MPI_Iallreduce(own, all, 8, MPI_INT, MPI_MAX, twin, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &part);
    if (rank != 0)
        MPI_Comm_free(&part);
    MPI_Comm_free(&half);
    MPI_Comm_free(&twin);
    MPI_Op_free(&op);
    contexts();
    MPI_Barrier(MPI_COMM_SELF);
}

static void differ(const char* name, int differs)
{
    int own[8] = {0}, all[64];
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_SELF);
    if (is(name, "call") && differs)
        MPI_Bcast(own, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (is(name, "call") && !differs)
        MPI_Allreduce(own, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (is(name, "root"))
        MPI_Bcast(own, 1, MPI_INT, differs, MPI_COMM_WORLD);
    if (is(name, "count"))
        MPI_Bcast(own, 1 + differs, MPI_INT, 0, MPI_COMM_WORLD);
    if (is(name, "op"))
        MPI_Allreduce(own, all, 1, MPI_INT, differs ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    if (is(name, "type"))
        MPI_Allreduce(own, all, 1, differs ? MPI_FLOAT : MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (is(name, "elements"))
        MPI_Bcast(own, 2 - differs, differs ? MPI_DOUBLE : MPI_INT, 0, MPI_COMM_WORLD);
    if (is(name, "block"))
        MPI_Gather(own, 2 - differs, differs ? MPI_DOUBLE : MPI_INT, all, 2, MPI_INT, 0,
                   MPI_COMM_WORLD);
    if (is(name, "missing") && !differs)
        MPI_Barrier(MPI_COMM_WORLD);
    if (is(name, "started") && differs)
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (is(name, "started") && !differs)
        MPI_Barrier(MPI_COMM_WORLD);
    if (is(name, "dup") && differs)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (is(name, "dup") && !differs)
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
    if (is(name, "hints") && differs)
        MPI_Comm_set_info(MPI_COMM_WORLD, MPI_INFO_NULL);
    if (is(name, "hints") && !differs)
        MPI_Barrier(MPI_COMM_WORLD);
    if (is(name, "named")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_name(comm, "my pair");
        if (differs)
            MPI_Barrier(comm);
        MPI_Bcast(own, 1, MPI_INT, 0, comm);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int count, char** arguments)
{
    int rank = 0, size = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char* name = count > 1 ? arguments[1] : "good";
    if (is(name, "good"))
        good(rank, size);
    else
        differ(name, rank == size - 1);
    MPI_Finalize();
    printf("rank %d went on\n", rank);
    return 0;
}
