// SPDX-License-Identifier: Apache-2.0
// Scatter, Iscatter, Alltoall, Ialltoall: every root, counts from none to large, in place.
#include "../check.h"

static const int counts[] = {0, 1, 7, 1000, 8193, 50000};
enum { count_count = sizeof counts / sizeof counts[0] };

// The block that `source` has for `target`.
static uint64_t seed_of(int source, int target, int count)
{
    return (uint64_t)(source * 977 + target * 31 + count % 1000 + 1);
}

static int finish(int code, MPI_Request* request)
{
    return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void fill_blocks(struct check* t, unsigned char* data, int count)
{
    for (int target = 0; target < t->size; ++target) {
        check_fill(data + (size_t)(target * count) * 8, (size_t)count * 8,
                   seed_of(t->rank, target, count));
    }
    check_fill(data + (size_t)(t->size * count) * 8, check_guard_bytes, 3);
}

static void scatter(struct check* t, unsigned char* out, unsigned char* in, int count, int root,
                    int form)
{
    MPI_Request request;
    const int at_root = t->rank == root, in_place = at_root && form >= 2;
    const void* from = at_root ? out : NULL;
    void* to = in_place ? MPI_IN_PLACE : in;
    fill_blocks(t, out, count);
    memset(in, 0xEE, (size_t)count * 8);
    check_fill(in + (size_t)count * 8, check_guard_bytes, 3);
    if (form % 2 == 1) {
        CHECK_CALL(t, finish(MPI_Iscatter(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, root,
                                          MPI_COMM_WORLD, &request),
                             &request));
    } else {
        CHECK_CALL(
            t, MPI_Scatter(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, root, MPI_COMM_WORLD));
    }
    if (!in_place)
        CHECK_PATTERN(t, in, (size_t)count * 8, seed_of(root, t->rank, count));
    CHECK_PATTERN(t, in + (size_t)count * 8, check_guard_bytes, 3);
    CHECK_PATTERN(t, out + (size_t)(t->rank * count) * 8, (size_t)count * 8,
                  seed_of(t->rank, t->rank, count));
}

static void all_to_all(struct check* t, unsigned char* out, unsigned char* in, int count, int form)
{
    MPI_Request request;
    const int in_place = form >= 2;
    const void* from = in_place ? MPI_IN_PLACE : out;
    fill_blocks(t, out, count);
    fill_blocks(t, in, count);
    if (!in_place)
        memset(in, 0xEE, (size_t)(t->size * count) * 8);
    if (form % 2 == 1) {
        CHECK_CALL(t, finish(MPI_Ialltoall(from, count, MPI_INT64_T, in, count, MPI_INT64_T,
                                           MPI_COMM_WORLD, &request),
                             &request));
    } else {
        CHECK_CALL(t,
                   MPI_Alltoall(from, count, MPI_INT64_T, in, count, MPI_INT64_T, MPI_COMM_WORLD));
    }
    for (int source = 0; source < t->size; ++source) {
        CHECK_PATTERN(t, in + (size_t)(source * count) * 8, (size_t)count * 8,
                      seed_of(source, t->rank, count));
        CHECK_PATTERN(t, out + (size_t)(source * count) * 8, (size_t)count * 8,
                      seed_of(t->rank, source, count));
    }
    CHECK_PATTERN(t, in + (size_t)(t->size * count) * 8, check_guard_bytes, 3);
}

static int test_main(void)
{
    struct check t = check_start("scatter");
    const size_t most = (size_t)(counts[count_count - 1] * t.size) * 8 + check_guard_bytes;
    unsigned char *out = check_memory(most), *in = check_memory(most);
    for (int i = 0; i < count_count; ++i) {
        for (int form = 0; form < 4; ++form) {
            for (int root = 0; root < t.size; ++root)
                scatter(&t, out, in, counts[i], root, form);
            all_to_all(&t, out, in, counts[i], form);
        }
    }
    free(in);
    free(out);
    return check_finish(&t);
}
