// SPDX-License-Identifier: Apache-2.0
// A program of known structure for `headway advise`: pairs of ranks exchange a long message
// `turns` times, and compute for so many ms each time.
//   window    Irecv, Isend, compute, Waitall
//   none      Irecv, Isend, Waitall, compute
//   blocking  Sendrecv, compute
//   mixed     Ibcast, compute in parts with a Test after each, Wait; then Allreduce
// Rank 0 prints the seconds from the first turn to the last.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { bytes = 64 * 1024, parts = 4 };
static char in[bytes];
static char out[bytes];

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Fixed work, whatever happens beside it.
static void compute(long iterations)
{
    static volatile double kept = 1.0;
    double state = kept;
    for (long index = 0; index < iterations; ++index)
        state = state * 0.999999 + 0.000001;
    kept = state;
}

// Iterations that take a second on this machine, the same on all ranks.
static double iterations_a_second(void)
{
    const long tried = 3000000;
    double least_s = 1e9;
    for (int attempt = 0; attempt < 5; ++attempt) {
        const double begin_s = now_s();
        compute(tried);
        const double took_s = now_s() - begin_s;
        least_s = took_s < least_s ? took_s : least_s;
    }
    double rate = (double)tried / least_s;
    MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return rate;
}

static void turn(const char* mode, int rank, long work)
{
    MPI_Request requests[2];
    const int peer = rank ^ 1;
    if (strcmp(mode, "blocking") == 0) {
        MPI_Sendrecv(out, bytes, MPI_BYTE, peer, 0, in, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        compute(work);
        return;
    }
    if (strcmp(mode, "mixed") == 0) {
        int one = 1;
        int sum = 0;
        int flag = 0;
        MPI_Ibcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[0]);
        for (int part = 0; part < parts; ++part) {
            compute(work / parts);
            MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        return;
    }
    MPI_Irecv(in, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[1]);
    if (strcmp(mode, "window") == 0)
        compute(work);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (strcmp(mode, "none") == 0)
        compute(work);
}

int main(int argc, char** argv)
{
    if (argc != 4) {
        fprintf(stderr, "synthetic: give window|none|blocking|mixed, turns, ms of computation\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int turns = atoi(argv[2]);
    const long work = (long)(iterations_a_second() * atof(argv[3]) * 1e-3);
    // A wait for nothing: the model takes the least wait for what each takes with progress, and
    // the waits of a quiet machine are all alike otherwise.
    MPI_Request nothing = MPI_REQUEST_NULL;
    MPI_Wait(&nothing, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = now_s();
    for (int index = 0; index < turns; ++index)
        turn(argv[1], rank, work);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.6f\n", now_s() - begin_s);
    MPI_Finalize();
    return 0;
}
