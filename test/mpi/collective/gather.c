// SPDX-License-Identifier: Apache-2.0
// Gather, Igather, Allgather, Iallgather: every root, counts from none to large, in place, and
// other but matching types on the two sides.
#include "../check.h"

static const int counts[] = {0, 1, 7, 1000, 8193, 100000};
enum { count_count = sizeof counts / sizeof counts[0] };

static uint64_t seed_of(int rank, int count)
{
    return (uint64_t)(rank * 251 + count % 1000 + 1);
}

static int finish(int code, MPI_Request* request)
{
    return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void check_blocks(struct check* t, const unsigned char* in, int count)
{
    for (int rank = 0; rank < t->size; ++rank) {
        CHECK_PATTERN(t, in + (size_t)(rank * count) * 4, (size_t)count * 4, seed_of(rank, count));
    }
    CHECK_PATTERN(t, in + (size_t)(t->size * count) * 4, check_guard_bytes, 3);
}

static void prepare(struct check* t, unsigned char* in, int count, int in_place)
{
    memset(in, 0xEE, (size_t)(t->size * count) * 4);
    check_fill(in + (size_t)(t->size * count) * 4, check_guard_bytes, 3);
    if (in_place) {
        check_fill(in + (size_t)(t->rank * count) * 4, (size_t)count * 4, seed_of(t->rank, count));
    }
}

static void gather(struct check* t, unsigned char* out, unsigned char* in, int count, int root,
                   int form)
{
    MPI_Request request;
    const int at_root = t->rank == root, started = form % 2, in_place = at_root && form >= 2;
    const void* from = in_place ? MPI_IN_PLACE : out;
    void* to = at_root ? in : NULL;
    prepare(t, in, count, in_place);
    // Two handles of one C type: signatures agree although the names differ.
    if (started) {
        CHECK_CALL(t, finish(MPI_Igather(from, count, MPI_INT, to, count, MPI_INT32_T, root,
                                         MPI_COMM_WORLD, &request),
                             &request));
    } else {
        CHECK_CALL(t,
                   MPI_Gather(from, count, MPI_INT, to, count, MPI_INT32_T, root, MPI_COMM_WORLD));
    }
    if (at_root)
        check_blocks(t, in, count);
}

static void all_gather(struct check* t, unsigned char* out, unsigned char* in, int count, int form)
{
    MPI_Request request;
    const int started = form % 2, in_place = form >= 2;
    const void* from = in_place ? MPI_IN_PLACE : out;
    prepare(t, in, count, in_place);
    if (started) {
        CHECK_CALL(t, finish(MPI_Iallgather(from, count, MPI_INT, in, count, MPI_INT,
                                            MPI_COMM_WORLD, &request),
                             &request));
    } else {
        CHECK_CALL(t, MPI_Allgather(from, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD));
    }
    check_blocks(t, in, count);
}

static void on_part(struct check* t)
{
    MPI_Comm part;
    int rank = -1, size = 0, *all = check_memory((size_t)t->size * sizeof *all);
    CHECK_CALL(t, MPI_Comm_split(MPI_COMM_WORLD, t->rank % 2, -t->rank, &part));
    CHECK_CALL(t, MPI_Comm_rank(part, &rank));
    CHECK_CALL(t, MPI_Comm_size(part, &size));
    CHECK_CALL(t, MPI_Allgather(&t->rank, 1, MPI_INT, all, 1, MPI_INT, part));
    CHECK_INT(t, all[rank], t->rank);
    for (int i = 1; i < size; ++i)
        CHECK_INT(t, all[i], all[i - 1] - 2);
    CHECK_CALL(t, MPI_Comm_free(&part));
    free(all);
}

static int test_main(void)
{
    struct check t = check_start("gather");
    const size_t most = (size_t)counts[count_count - 1] * 4;
    unsigned char* out = check_memory(most);
    unsigned char* in = check_memory(most * (size_t)t.size + check_guard_bytes);
    for (int i = 0; i < count_count; ++i) {
        const int count = counts[i];
        check_fill(out, (size_t)count * 4, seed_of(t.rank, count));
        for (int form = 0; form < 4; ++form) {
            for (int root = 0; root < t.size; ++root)
                gather(&t, out, in, count, root, form);
            all_gather(&t, out, in, count, form);
        }
        CHECK_PATTERN(&t, out, (size_t)count * 4, seed_of(t.rank, count));
    }
    on_part(&t);
    free(in);
    free(out);
    return check_finish(&t);
}
