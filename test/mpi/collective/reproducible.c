// SPDX-License-Identifier: Apache-2.0
// Allreduce gives the same bits on all ranks, each time, also for sums that depend on the order
// of addition, whatever other traffic is under way. The last line printed is a checksum: two
// runs on as many ranks must print the same.
#include <math.h>
#include "../check.h"

enum { count_max = 20000, repeats = 8 };

static uint64_t digest(const void* data, size_t size_bytes, uint64_t sum)
{
    const unsigned char* bytes = data;
    for (size_t i = 0; i < size_bytes; ++i)
        sum = (sum ^ bytes[i]) * 0x100000001B3u;
    return sum;
}

// Magnitudes far apart: any other order of addition rounds differently.
static void fill(double* data, int count, int rank)
{
    uint64_t random = (uint64_t)rank + 12345;
    for (int i = 0; i < count; ++i) {
        const double mantissa = (double)(check_random(&random) >> 11) / 9007199254740992.0 - 0.5;
        data[i] = ldexp(mantissa, check_below(&random, 60) - 30);
    }
}

static void check_same_everywhere(struct check* t, uint64_t sum)
{
    uint64_t lowest = 0, highest = 0;
    CHECK_CALL(t, MPI_Allreduce(&sum, &lowest, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Allreduce(&sum, &highest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD));
    CHECK(t, lowest == sum && highest == sum);
}

// Ranks come at different moments: each does a different amount of work before.
static void be_uneven(int rank, int turn)
{
    volatile double waste = 1;
    for (int i = 0; i < ((rank * 3 + turn) % 5) * 20000; ++i)
        waste = waste * 1.0000001 + 1e-9;
}

static uint64_t one_count(struct check* t, int count, double* out, double* in, uint64_t sum)
{
    uint64_t first = 0;
    fill(out, count, t->rank);
    for (int turn = 0; turn < repeats; ++turn) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        int got = -1;
        be_uneven(t->rank, turn);
        if (turn % 2 == 1) {
            const int to = (t->rank + 1) % t->size;
            CHECK_CALL(
                t, MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[0]));
            CHECK_CALL(t, MPI_Isend(&turn, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &requests[1]));
        }
        CHECK_CALL(t, MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        const uint64_t now = digest(in, (size_t)count * sizeof *in, 14695981039346656037u);
        if (turn == 0)
            first = now;
        CHECK(t, now == first);
    }
    check_same_everywhere(t, first);
    return digest(&first, sizeof first, sum);
}

static void started_too(struct check* t, int count, double* out, double* in)
{
    uint64_t first = 0;
    fill(out, count, t->rank);
    for (int turn = 0; turn < repeats; ++turn) {
        MPI_Request request;
        CHECK_CALL(t,
                   MPI_Iallreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
        be_uneven(t->rank, turn);
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        const uint64_t now = digest(in, (size_t)count * sizeof *in, 14695981039346656037u);
        if (turn == 0)
            first = now;
        CHECK(t, now == first);
    }
    check_same_everywhere(t, first);
}

static int test_main(void)
{
    struct check t = check_start("reproducible");
    static const int counts[] = {1, 3, 64, 1025, count_max};
    double *out = check_memory(count_max * sizeof *out), *in = check_memory(count_max * sizeof *in);
    uint64_t sum = 0;
    for (int i = 0; i < 5; ++i) {
        sum = one_count(&t, counts[i], out, in, sum);
        started_too(&t, counts[i], out, in);
    }
    free(in);
    free(out);
    if (t.rank == 0)
        printf("checksum %d ranks %016llx\n", t.size, (unsigned long long)sum);
    return check_finish(&t);
}
