// SPDX-License-Identifier: Apache-2.0
// Alltoall and Ialltoall: short and long blocks, in place, many outstanding at once.
#include "../check.h"

static const int counts[] = {0, 1, 3, 60, 1000, 40000};
enum { count_count = sizeof counts / sizeof counts[0], outstanding = 7 };

static uint64_t seed_of(int from, int to, int count)
{
    return (uint64_t)(from * 251 + to * 17 + count % 1000 + 1);
}

static void fill(const struct check* t, unsigned char* out, int count)
{
    for (int to = 0; to < t->size; ++to) {
        check_fill(out + (size_t)(to * count) * 4, (size_t)count * 4, seed_of(t->rank, to, count));
    }
}

static void check_blocks(struct check* t, const unsigned char* in, int count)
{
    for (int from = 0; from < t->size; ++from) {
        CHECK_PATTERN(t, in + (size_t)(from * count) * 4, (size_t)count * 4,
                      seed_of(from, t->rank, count));
    }
}

static void one(struct check* t, unsigned char* out, unsigned char* in, int count, int form)
{
    MPI_Request request;
    const int in_place = form >= 2;
    fill(t, in_place ? in : out, count);
    check_fill(in + (size_t)(t->size * count) * 4, check_guard_bytes, 3);
    const void* from = in_place ? MPI_IN_PLACE : (void*)out;
    if (form % 2) {
        CHECK_CALL(t, MPI_Ialltoall(from, count, MPI_INT, in, count, MPI_INT32_T, MPI_COMM_WORLD,
                                    &request));
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        CHECK_CALL(t, MPI_Alltoall(from, count, MPI_INT, in, count, MPI_INT32_T, MPI_COMM_WORLD));
    }
    check_blocks(t, in, count);
    CHECK_PATTERN(t, in + (size_t)(t->size * count) * 4, check_guard_bytes, 3);
}

static void many(struct check* t, int count)
{
    const size_t bytes = (size_t)(t->size * count) * 4;
    unsigned char *out = check_memory(bytes), *in = check_memory(bytes * outstanding);
    MPI_Request requests[outstanding];
    fill(t, out, count);
    for (int i = 0; i < outstanding; ++i) {
        CHECK_CALL(t, MPI_Ialltoall(out, count, MPI_INT, in + (size_t)i * bytes, count, MPI_INT,
                                    MPI_COMM_WORLD, &requests[i]));
    }
    CHECK_CALL(t, MPI_Waitall(outstanding, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < outstanding; ++i)
        check_blocks(t, in + (size_t)i * bytes, count);
    free(in);
    free(out);
}

static int test_main(void)
{
    struct check t = check_start("alltoall");
    const size_t most = (size_t)(counts[count_count - 1] * t.size) * 4 + check_guard_bytes;
    unsigned char *out = check_memory(most), *in = check_memory(most);
    for (int i = 0; i < count_count; ++i) {
        for (int form = 0; form < 4; ++form)
            one(&t, out, in, counts[i], form);
    }
    many(&t, 3);
    many(&t, 5000);
    free(in);
    free(out);
    return check_finish(&t);
}
