// SPDX-License-Identifier: Apache-2.0
// MPI traffic of every kind until somebody ends it: short and long messages round the ring,
// collectives, unexpected messages. Never finishes by itself.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { longest_bytes = 1 << 20 };

static void turn(char* out, char* in, int bytes, int rank, int size)
{
    MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + 1) % size, 1, in, bytes, MPI_BYTE,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char* out = malloc(longest_bytes);
    char* in = malloc(longest_bytes);
    memset(out, rank, longest_bytes);
    for (long round = 0;; ++round) {
        double own = (double)rank, sum;
        turn(out, in, 8, rank, size);
        turn(out, in, 4096, rank, size);
        turn(out, in, longest_bytes, rank, size);
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (round % 16 == 0)
            MPI_Barrier(MPI_COMM_WORLD);
    }
}
