// SPDX-License-Identifier: Apache-2.0
// A number travels around a ring of all ranks, and everybody agrees on the sum.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv)
{
    int rank = 0, size = 0, token = 0, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        token = 1;
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    }
    MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) {
        ++token;
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    }
    MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("the ring has %d members\n", sum);
    MPI_Finalize();
    return sum == size ? 0 : 1;
}
