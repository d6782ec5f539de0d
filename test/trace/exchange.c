// SPDX-License-Identifier: Apache-2.0
// A program whose messages are known: trace_test.py compares its trace with what it must have
// done. Every rank sends to its right neighbour `rounds` times, each time with another tag: short
// and long messages in turn, computing between start and completion; then one reduction. The
// receives of one tag in four are started late, so that messages wait for them. A callback makes a
// call inside a call. argv: rounds [abort]
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { short_bytes = 64, long_bytes = 256 * 1024 };

static void compute(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double end = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + seconds;
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec < end);
}

static int forget(MPI_Comm comm, int key, void* value, void* state)
{
    int size = 0;
    (void)key;
    (void)value;
    (void)state;
    return MPI_Comm_size(comm, &size);
}

static void exchange(int round, char* out, char* in)
{
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int bytes = round % 2 == 0 ? short_bytes : long_bytes;
    const int left = (rank + size - 1) % size;
    const int right = (rank + 1) % size;
    MPI_Request requests[2];
    if (round % 4 < 3)
        MPI_Irecv(in, bytes, MPI_BYTE, left, round, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, right, round, MPI_COMM_WORLD, &requests[1]);
    compute(100e-6);
    if (round % 4 == 3)
        MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int rounds = argc > 1 ? atoi(argv[1]) : 8;
    char* out = calloc(2, long_bytes);
    if (out == NULL)
        return 1;
    for (int round = 0; round < rounds; ++round)
        exchange(round, out, out + long_bytes);
    double mine = rank;
    double sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &key);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    free(out);
    if (argc > 2 && strcmp(argv[2], "abort") == 0) {
        if (rank == 1) {
            fflush(stdout);
            MPI_Abort(MPI_COMM_WORLD, 7);
        }
        MPI_Recv(&sum, 1, MPI_DOUBLE, 1, 12345, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    printf("done\n");
    return 0;
}
