// SPDX-License-Identifier: Apache-2.0
// Many operations in flight at once: 10 000 unexpected messages, 1 000 posted receives, taken
// in send order, backwards and in a shuffled order; large ones among them.
#include "../check.h"

enum { small_count = 10000, posted_count = 1000, large_count = 40, large_bytes = 100003 };
enum { tag_end = 20000, tag_go = 20001 };

// A full cycle through 0..count-1 for a step coprime to count.
static int nth(int k, int count, int step)
{
    return (int)((long long)k * step % count);
}

static void unexpected(struct check* t, int step)
{
    const int partner = t->rank ^ 1;
    MPI_Request* requests = check_memory(small_count * sizeof *requests);
    long long* values = check_memory(small_count * sizeof *values);
    if (t->rank % 2 == 0) {
        for (int i = 0; i < small_count; ++i) {
            values[i] = i * 1000003LL;
            CHECK_CALL(
                t, MPI_Isend(&values[i], 1, MPI_INT64_T, partner, i, MPI_COMM_WORLD, &requests[i]));
        }
        CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, partner, tag_end, MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Waitall(small_count, requests, MPI_STATUSES_IGNORE));
    } else {
        CHECK_CALL(t,
                   MPI_Recv(NULL, 0, MPI_INT, partner, tag_end, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int k = 0; k < small_count; ++k) {
            const int tag = nth(k, small_count, step);
            long long value = -1;
            CHECK_CALL(t, MPI_Recv(&value, 1, MPI_INT64_T, partner, tag, MPI_COMM_WORLD,
                                   MPI_STATUS_IGNORE));
            CHECK_INT(t, value, tag * 1000003LL);
        }
    }
    free(values);
    free(requests);
}

static void posted(struct check* t, int step)
{
    const int partner = t->rank ^ 1;
    MPI_Request* requests = check_memory(posted_count * sizeof *requests);
    int* values = check_memory(posted_count * sizeof *values);
    if (t->rank % 2 == 1) {
        for (int i = 0; i < posted_count; ++i) {
            values[i] = -1;
            CHECK_CALL(t,
                       MPI_Irecv(&values[i], 1, MPI_INT, partner, i, MPI_COMM_WORLD, &requests[i]));
        }
        CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, partner, tag_go, MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Waitall(posted_count, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < posted_count; ++i)
            CHECK_INT(t, values[i], i + 7);
    } else {
        CHECK_CALL(t,
                   MPI_Recv(NULL, 0, MPI_INT, partner, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int k = 0; k < posted_count; ++k) {
            const int tag = nth(k, posted_count, step), value = tag + 7;
            CHECK_CALL(t, MPI_Send(&value, 1, MPI_INT, partner, tag, MPI_COMM_WORLD));
        }
    }
    free(values);
    free(requests);
}

// Both directions at once, receives posted backwards, on all pairs and on oneself.
static void large(struct check* t, int partner)
{
    MPI_Request requests[2 * large_count];
    unsigned char* out = check_memory((size_t)large_count * large_bytes);
    unsigned char* in = check_memory((size_t)large_count * large_bytes);
    for (int i = 0; i < large_count; ++i) {
        unsigned char* data = out + (size_t)i * large_bytes;
        check_fill(data, large_bytes, (uint64_t)(t->rank * 100 + i));
        CHECK_CALL(
            t, MPI_Isend(data, large_bytes, MPI_BYTE, partner, i, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = large_count - 1; i >= 0; --i) {
        CHECK_CALL(t, MPI_Irecv(in + (size_t)i * large_bytes, large_bytes, MPI_BYTE, partner, i,
                                MPI_COMM_WORLD, &requests[large_count + i]));
    }
    CHECK_CALL(t, MPI_Waitall(2 * large_count, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < large_count; ++i) {
        CHECK_PATTERN(t, in + (size_t)i * large_bytes, large_bytes, (uint64_t)(partner * 100 + i));
    }
    free(in);
    free(out);
}

static int test_main(void)
{
    struct check t = check_start("outstanding");
    large(&t, t.rank);
    if ((t.rank ^ 1) < t.size) {
        unexpected(&t, 1);
        unexpected(&t, small_count - 1);
        unexpected(&t, 7919);
        posted(&t, 1);
        posted(&t, posted_count - 1);
        posted(&t, 387);
        large(&t, t.rank ^ 1);
    }
    return check_finish(&t);
}
