// SPDX-License-Identifier: Apache-2.0
// blocks CASE: collective calls with blocks of which the last rank and a rank before it say
// different things; "good" ones do not differ, in all the ways in which both sides may.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { room = 64, ranks_max = 8 };

static int own[room], all[room];
static int ones[ranks_max], steps[ranks_max];
static int rank, size;

static int is(const char* name, const char* wanted)
{
    return strcmp(name, wanted) == 0;
}

// Both groups: the ranks below `first`, and the others.
static MPI_Comm between(int first)
{
    MPI_Comm half, inter;
    const int is_first = rank < first;
    MPI_Comm_split(MPI_COMM_WORLD, is_first, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_first ? first : 0, 1, &inter);
    MPI_Comm_set_name(inter, "between");
    MPI_Comm_free(&half);
    return inter;
}

// A line of all ranks in a ring.
static MPI_Comm ring(void)
{
    const int periodic = 1;
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &comm);
    MPI_Comm_set_name(comm, "ring");
    return comm;
}

static void lists(const char* name, int more)
{
    MPI_Datatype types[ranks_max], others[ranks_max];
    int places[ranks_max];
    for (int i = 0; i < ranks_max; ++i) {
        types[i] = MPI_INT;
        others[i] = more ? MPI_FLOAT : MPI_INT;
        places[i] = 4 * i;
    }
    if (is(name, "gatherv"))
        MPI_Gatherv(own, 1 + more, MPI_INT, all, ones, steps, MPI_INT, 0, MPI_COMM_WORLD);
    if (is(name, "scatterv"))
        MPI_Scatterv(all, ones, steps, MPI_INT, own, 1 + more, MPI_INT, 0, MPI_COMM_WORLD);
    if (is(name, "igatherv")) {
        MPI_Request request;
        MPI_Igatherv(own, 1, more ? MPI_FLOAT : MPI_INT, all, ones, steps, MPI_INT, 0,
                     MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (is(name, "allgatherv"))
        MPI_Allgatherv(own, 1 + more, MPI_INT, all, ones, steps, MPI_INT, MPI_COMM_WORLD);
    if (is(name, "alltoallv")) {
        const int to[ranks_max] = {1 + more, 1, 1, 1, 1, 1, 1, 1};
        MPI_Alltoallv(own, to, places, MPI_INT, all, ones, places, MPI_INT, MPI_COMM_WORLD);
    }
    if (is(name, "alltoallw"))
        MPI_Alltoallw(own, ones, places, others, all, ones, places, types, MPI_COMM_WORLD);
}

static void neighbors(const char* name, int more)
{
    MPI_Comm comm = ring();
    const int two[2] = {1, 1 + more};
    if (is(name, "neighbor"))
        MPI_Neighbor_allgather(own, 1 + more, MPI_INT, all, 1, MPI_INT, comm);
    if (is(name, "neighborv"))
        MPI_Neighbor_alltoallv(own, two, steps, MPI_INT, all, ones, steps, MPI_INT, comm);
    MPI_Comm_free(&comm);
}

static void groups(const char* name, int more)
{
    MPI_Comm comm = between(size - 1);
    const int leads = rank == 0;
    const int is_last = rank == size - 1;
    // The first group has the root, or the second, where that is asked for.
    const int root = is_last ? 0 : leads ? MPI_ROOT : MPI_PROC_NULL;
    if (is(name, "inter_bcast"))
        MPI_Bcast(own, 1 + more, MPI_INT, root, comm);
    if (is(name, "inter_root"))
        MPI_Bcast(own, 1, MPI_INT, is_last ? size - 2 : root, comm);
    if (is(name, "inter_gather"))
        MPI_Gather(own, 1 + more, MPI_INT, all, 1, MPI_INT, root, comm);
    if (is(name, "inter_reduce"))
        MPI_Reduce(own, all, 1 + more, MPI_INT, MPI_SUM, root, comm);
    if (is(name, "inter_allreduce"))
        MPI_Allreduce(own, all, 1, MPI_INT, more ? MPI_MAX : MPI_SUM, comm);
    if (is(name, "inter_alltoall"))
        MPI_Alltoall(own, 1 + more, MPI_INT, all, 1, MPI_INT, comm);
    if (is(name, "inter_scattered"))
        MPI_Reduce_scatter_block(all, own, is_last ? size - 1 : 2, MPI_INT, MPI_SUM, comm);
    if (is(name, "inter_call") && more)
        MPI_Barrier(comm);
    if (is(name, "inter_call") && !more)
        MPI_Allreduce(own, all, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
}

static void good_groups(int first)
{
    MPI_Comm comm = between(first);
    const int is_first = rank < first;
    const int root = !is_first ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    int peers;
    MPI_Comm_remote_size(comm, &peers);
    MPI_Barrier(comm);
    MPI_Bcast(own, 2, MPI_INT, root, comm);
    MPI_Gather(own, 2, MPI_INT, all, 8, MPI_BYTE, root, comm);
    MPI_Gatherv(own, 1, MPI_INT, all, ones, steps, MPI_INT, root, comm);
    MPI_Scatter(all, 2, MPI_INT, own, 2, MPI_INT, root, comm);
    MPI_Reduce(own, all, 2, MPI_INT, MPI_SUM, root, comm);
    MPI_Allreduce(own, all, 2, MPI_INT, MPI_SUM, comm);
    // Each direction has blocks of its own.
    MPI_Allgather(own, is_first ? 2 : 1, MPI_INT, all, is_first ? 1 : 2, MPI_INT, comm);
    MPI_Alltoall(all, is_first ? 2 : 1, MPI_INT, own, is_first ? 1 : 2, MPI_INT, comm);
    MPI_Alltoallv(all, ones, steps, MPI_INT, own, ones, steps, MPI_INT, comm);
    MPI_Reduce_scatter_block(all, own, peers, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
}

static void good_neighbors(void)
{
    const int sizes[2] = {2, 1};
    int odd[2];
    MPI_Comm comm = ring();
    MPI_Request request;
    MPI_Neighbor_allgather(own, 1, MPI_INT, all, 4, MPI_BYTE, comm);
    // What leaves in one direction arrives from the other one.
    MPI_Neighbor_alltoallv(own, sizes, steps, MPI_INT, all, (int[]){1, 2}, (int[]){0, 8}, MPI_INT,
                           comm);
    MPI_Neighbor_alltoall_init(own, 1, MPI_INT, all, 1, MPI_INT, comm, MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; ++round) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Comm_free(&comm);
    // Two edges to the next rank and two from the one before: they keep their order.
    for (int i = 0; i < 2; ++i)
        odd[i] = (rank + 1) % size;
    const int before[2] = {(rank + size - 1) % size, (rank + size - 1) % size};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, before, MPI_UNWEIGHTED, 2, odd,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    MPI_Neighbor_alltoallv(own, sizes, steps, MPI_INT, all, sizes, (int[]){0, 8}, MPI_INT, comm);
    MPI_Neighbor_allgatherv(own, 2, MPI_INT, all, (int[]){2, 2}, (int[]){0, 8}, MPI_INT, comm);
    MPI_Comm_free(&comm);
}

static void good_lists(void)
{
    int counts[ranks_max], places[ranks_max], to[ranks_max];
    for (int i = 0; i < ranks_max; ++i) {
        counts[i] = i % 3;
        to[i] = rank % 3;
        places[i] = 3 * i;
    }
    MPI_Gatherv(own, rank % 3, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gatherv(rank == 1 ? MPI_IN_PLACE : own, 4 * (rank % 3), MPI_BYTE, all, counts, places,
                MPI_INT, 1 % size, MPI_COMM_WORLD);
    MPI_Scatterv(all, counts, places, MPI_INT, own, rank % 3, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Allgatherv(rank == 0 ? MPI_IN_PLACE : own, rank % 3, MPI_INT, all, counts, places, MPI_INT,
                   MPI_COMM_WORLD);
    MPI_Alltoallv(own, to, places, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, ones, steps, MPI_INT,
                  MPI_COMM_WORLD);
}

int main(int count, char** arguments)
{
    const char* name = count > 1 ? arguments[1] : "good";
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ranks_max; ++i) {
        ones[i] = 1;
        steps[i] = i;
    }
    const int more = rank == size - 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (is(name, "good")) {
        good_lists();
        good_neighbors();
        for (int first = 1; first < size; ++first)
            good_groups(first);
    } else if (strncmp(name, "inter", 5) == 0) {
        groups(name, more);
    } else if (strncmp(name, "neighbor", 8) == 0) {
        neighbors(name, more);
    } else {
        lists(name, more);
    }
    MPI_Finalize();
    printf("rank %d went on\n", rank);
    return 0;
}
