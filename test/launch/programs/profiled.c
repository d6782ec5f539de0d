// SPDX-License-Identifier: Apache-2.0
// Rank 0 sends five messages of 30 ints to every other rank.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv)
{
    int rank, size, numbers[30] = {0}, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Pcontrol(1);
    for (int turn = 0; turn < 5; ++turn) {
        if (rank != 0) {
            MPI_Recv(numbers, 30, MPI_INT, 0, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += numbers[29];
            continue;
        }
        numbers[29] = turn;
        for (int other = 1; other < size; ++other) {
            MPI_Send(numbers, 30, MPI_INT, other, turn, MPI_COMM_WORLD);
        }
    }
    if (rank != 0)
        printf("received %d\n", sum);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
