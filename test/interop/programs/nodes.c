// SPDX-License-Identifier: Apache-2.0
// Says of each rank how many share its node, once all have heard of all; with an argument the last
// one ends the job instead, with that code.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv)
{
    int rank, size, near, sum = 0;
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 1 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[1]));
    if (argc > 1)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &near);
    printf("rank %d of %d: %d on its node, sum %d\n", rank, size, near, sum);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
