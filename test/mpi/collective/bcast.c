// SPDX-License-Identifier: Apache-2.0
// Bcast and Ibcast from every root, at counts from none to large, of several types, on the
// world and on parts of it, and many of them in a row.
#include "../check.h"

static const int counts[] = {0, 1, 7, 40, 41, 1000, 8191, 8193, 100000};
enum { count_count = sizeof counts / sizeof counts[0] };

static int broadcast(int started, void* data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    MPI_Request request;
    if (!started)
        return MPI_Bcast(data, count, type, root, comm);
    const int code = MPI_Ibcast(data, count, type, root, comm, &request);
    return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void one(struct check* t, MPI_Comm comm, int started, int count, MPI_Datatype type,
                int element_bytes, int root)
{
    const size_t bytes = (size_t)(count * element_bytes);
    unsigned char* room = check_memory(bytes + 2 * check_guard_bytes + 1);
    unsigned char* data = room + check_guard_bytes + (element_bytes == 1);
    int rank = -1;
    CHECK_CALL(t, MPI_Comm_rank(comm, &rank));
    check_fill(data - check_guard_bytes, check_guard_bytes, 1);
    check_fill(data + bytes, check_guard_bytes, 2);
    check_fill(data, bytes, rank == root ? (uint64_t)(root + count) : 77);
    CHECK_CALL(t, broadcast(started, data, count, type, root, comm));
    CHECK_PATTERN(t, data, bytes, (uint64_t)(root + count));
    CHECK_PATTERN(t, data - check_guard_bytes, check_guard_bytes, 1);
    CHECK_PATTERN(t, data + bytes, check_guard_bytes, 2);
    free(room);
}

static void all_roots(struct check* t, MPI_Comm comm)
{
    int size = 0;
    CHECK_CALL(t, MPI_Comm_size(comm, &size));
    for (int started = 0; started < 2; ++started) {
        for (int i = 0; i < count_count; ++i) {
            for (int root = 0; root < size; ++root) {
                one(t, comm, started, counts[i], MPI_BYTE, 1, root);
                one(t, comm, started, counts[i], MPI_INT, 4, root);
                if (i % 3 == 0)
                    one(t, comm, started, counts[i], MPI_C_DOUBLE_COMPLEX, 16, root);
            }
        }
    }
}

// Ranks may run far ahead of each other: rounds must not mix.
static void in_a_row(struct check* t)
{
    for (int i = 0; i < 500; ++i) {
        const int root = (i / 10) % t->size;
        int value = t->rank == root ? i : -1;
        CHECK_CALL(t, MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD));
        CHECK_INT(t, value, i);
    }
}

static int test_main(void)
{
    struct check t = check_start("bcast");
    MPI_Comm half;
    all_roots(&t, MPI_COMM_WORLD);
    all_roots(&t, MPI_COMM_SELF);
    CHECK_CALL(&t, MPI_Comm_split(MPI_COMM_WORLD, t.rank % 2, -t.rank, &half));
    all_roots(&t, half);
    CHECK_CALL(&t, MPI_Comm_free(&half));
    in_a_row(&t);
    return check_finish(&t);
}
