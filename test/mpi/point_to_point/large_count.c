// SPDX-License-Identifier: Apache-2.0
// A message of more bytes than an int counts (CHECK_BYTES, 2.2 GB by default), by the calls with
// large counts; a narrow count of what came is MPI_UNDEFINED.
#include "../check.h"

#include <limits.h>

enum { tag = 6, window = 4096 };

// Spots all over the message: its ends, around each power of two, and a few by chance.
static int spots(MPI_Count bytes, MPI_Count* at)
{
    int count = 0;
    uint64_t seed = 17;
    at[count++] = 0;
    at[count++] = bytes - window;
    for (MPI_Count power = window; power < bytes - window; power *= 2)
        at[count++] = power - 64;
    for (int i = 0; i < 20; ++i) {
        at[count++] = (MPI_Count)(check_random(&seed) % (uint64_t)(bytes - window));
    }
    return count;
}

static void fill(unsigned char* buffer, MPI_Count bytes, const MPI_Count* at, int count)
{
    memset(buffer, 0x11, (size_t)bytes);
    for (int i = 0; i < count; ++i)
        check_fill(buffer + at[i], window, (uint64_t)i);
}

static void moves(struct check* t, MPI_Count bytes, MPI_Datatype type, int type_bytes)
{
    unsigned char* buffer = check_memory((size_t)bytes);
    MPI_Count at[128], got = 0;
    const int count = spots(bytes, at);
    MPI_Status status;
    MPI_Request request;
    int narrow = 0;
    if (t->rank == 0) {
        fill(buffer, bytes, at, count);
        CHECK_CALL(t,
                   MPI_Isend_c(buffer, bytes / type_bytes, type, 1, tag, MPI_COMM_WORLD, &request));
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (t->rank == 1) {
        unsigned char* want = check_memory((size_t)bytes);
        fill(want, bytes, at, count);
        CHECK_CALL(t, MPI_Probe(0, tag, MPI_COMM_WORLD, &status));
        CHECK_CALL(t, MPI_Get_count_c(&status, type, &got));
        CHECK_INT(t, got, bytes / type_bytes);
        CHECK_CALL(t,
                   MPI_Recv_c(buffer, bytes / type_bytes, type, 0, tag, MPI_COMM_WORLD, &status));
        CHECK_CALL(t, MPI_Get_count_c(&status, MPI_BYTE, &got));
        CHECK_INT(t, got, bytes);
        CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &narrow));
        CHECK_INT(t, narrow, bytes > INT_MAX ? MPI_UNDEFINED : (int)bytes);
        CHECK_INT(t, memcmp(buffer, want, (size_t)bytes), 0);
        free(want);
    }
    free(buffer);
}

static int test_main(void)
{
    struct check t = check_start("large_count");
    const MPI_Count bytes = (MPI_Count)check_setting("CHECK_BYTES", 2200000000L) / 8 * 8;
    if (t.size < 2) {
        fprintf(stderr, "large_count: needs two ranks\n");
        return 1;
    }
    moves(&t, bytes, MPI_BYTE, 1);
    moves(&t, bytes, MPI_DOUBLE, 8);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    return check_finish(&t);
}
