// SPDX-License-Identifier: Apache-2.0
// Probe and Iprobe see what a receive with the same arguments would take, take nothing
// themselves, and Get_count tells how many elements came.
#include "../check.h"

enum { tag_a = 1, tag_b = 2, tag_c = 3, tag_done = 4, probe_rounds = 40 };

// Probe with wildcards, make room, receive exactly that message: the usual client loop.
static void unknown_lengths(struct check* t)
{
    MPI_Status status;
    if (t->rank > 0) {
        for (int i = 0; i < probe_rounds; ++i) {
            const int bytes = (i * 997) % 12000;
            unsigned char* out = check_memory((size_t)bytes);
            check_fill(out, (size_t)bytes, (uint64_t)(t->rank * 1000 + i));
            CHECK_CALL(t, MPI_Send(out, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD));
            free(out);
        }
        return;
    }
    for (int k = 0; k < probe_rounds * (t->size - 1); ++k) {
        int bytes = -1, got = -1;
        MPI_Status taken;
        CHECK_CALL(t, MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &bytes));
        if (!CHECK_INT(t, bytes, (status.MPI_TAG * 997) % 12000))
            return;
        unsigned char* in = check_memory((size_t)bytes);
        CHECK_CALL(t, MPI_Recv(in, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
                               MPI_COMM_WORLD, &taken));
        CHECK_CALL(t, MPI_Get_count(&taken, MPI_BYTE, &got));
        CHECK_INT(t, got, bytes);
        CHECK_INT(t, taken.MPI_SOURCE, status.MPI_SOURCE);
        CHECK_PATTERN(t, in, (size_t)bytes, (uint64_t)(status.MPI_SOURCE * 1000 + status.MPI_TAG));
        free(in);
    }
}

// Three messages wait; each probe names the one its arguments select, again and again.
static void selects(struct check* t)
{
    int value[4] = {1, 2, 3, 4}, in[4], count = -1, flag = 0;
    MPI_Request requests[3];
    MPI_Status status;
    const int me = t->rank;
    CHECK_CALL(t, MPI_Iprobe(me, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Isend(value, 1, MPI_INT, me, tag_a, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPI_Isend(value, 2, MPI_INT, me, tag_b, MPI_COMM_WORLD, &requests[1]));
    CHECK_CALL(t, MPI_Isend(value, 4, MPI_INT, me, tag_b, MPI_COMM_WORLD, &requests[2]));
    for (int again = 0; again < 3; ++again) {
        CHECK_CALL(t, MPI_Probe(me, tag_b, MPI_COMM_WORLD, &status));
        CHECK_CALL(t, MPI_Get_count(&status, MPI_INT, &count));
        CHECK_INT(t, count, 2);
        CHECK_CALL(t, MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK_INT(t, status.MPI_TAG, tag_a);
        CHECK_INT(t, status.MPI_SOURCE, me);
        CHECK_CALL(t, MPI_Iprobe(me, tag_b, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK_INT(t, flag, 1);
        CHECK_CALL(t, MPI_Iprobe(me, tag_c, MPI_COMM_WORLD, &flag, &status));
        CHECK_INT(t, flag, 0);
        CHECK_CALL(t, MPI_Iprobe(0, tag_a, MPI_COMM_SELF, &flag, &status));
        CHECK_INT(t, flag, 0);
    }
    CHECK_CALL(t, MPI_Recv(in, 4, MPI_INT, me, tag_b, MPI_COMM_WORLD, &status));
    CHECK_CALL(t, MPI_Probe(me, tag_b, MPI_COMM_WORLD, &status));
    CHECK_CALL(t, MPI_Get_count(&status, MPI_INT, &count));
    CHECK_INT(t, count, 4);
    CHECK_CALL(t, MPI_Recv(in, 4, MPI_INT, me, tag_b, MPI_COMM_WORLD, &status));
    CHECK_CALL(t, MPI_Recv(in, 4, MPI_INT, me, tag_a, MPI_COMM_WORLD, &status));
    CHECK_CALL(t, MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
}

// A posted receive takes its message; a probe must not see it.
static void posted_first(struct check* t)
{
    int in = 0, out = 5, flag = -1;
    MPI_Request requests[2];
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, t->rank, tag_c, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPI_Isend(&out, 1, MPI_INT, t->rank, tag_c, MPI_COMM_WORLD, &requests[1]));
    CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_CALL(t, MPI_Iprobe(t->rank, tag_c, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(t, flag, 0);
    CHECK_INT(t, in, 5);
}

// Iprobe alone must bring the message of a neighbour sooner or later, of any size and mode.
static void iprobe_makes_progress(struct check* t, int bytes)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    unsigned char *out = check_memory((size_t)bytes), *in = check_memory((size_t)bytes);
    MPI_Request sent;
    MPI_Status status;
    int flag = 0, count = -1;
    check_fill(out, (size_t)bytes, 31);
    CHECK_CALL(t, MPI_Issend(out, bytes, MPI_BYTE, to, tag_done, MPI_COMM_WORLD, &sent));
    while (!flag) {
        if (MPI_Iprobe(from, tag_done, MPI_COMM_WORLD, &flag, &status) != MPI_SUCCESS)
            break;
    }
    CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_INT(t, count, bytes);
    CHECK_CALL(t, MPI_Recv(in, bytes, MPI_BYTE, from, tag_done, MPI_COMM_WORLD, &status));
    CHECK_PATTERN(t, in, (size_t)bytes, 31);
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    free(in);
    free(out);
}

// Bytes that are no whole number of elements give MPI_UNDEFINED; nothing gives 0.
static void counts(struct check* t)
{
    const unsigned char out[10] = {0};
    unsigned char in[16];
    MPI_Request sent;
    MPI_Status status;
    int count = 0;
    CHECK_CALL(t, MPI_Isend(out, 10, MPI_BYTE, t->rank, tag_a, MPI_COMM_WORLD, &sent));
    CHECK_CALL(t, MPI_Recv(in, 16, MPI_BYTE, t->rank, tag_a, MPI_COMM_WORLD, &status));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Get_count(&status, MPI_INT, &count));
    CHECK_INT(t, count, MPI_UNDEFINED);
    CHECK_CALL(t, MPI_Get_count(&status, MPI_SHORT, &count));
    CHECK_INT(t, count, 5);
    CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_INT(t, count, 10);
    CHECK_CALL(t, MPI_Sendrecv(NULL, 0, MPI_BYTE, t->rank, tag_a, NULL, 0, MPI_BYTE, t->rank, tag_a,
                               MPI_COMM_WORLD, &status));
    CHECK_CALL(t, MPI_Get_count(&status, MPI_DOUBLE, &count));
    CHECK_INT(t, count, 0);
}

static int test_main(void)
{
    struct check t = check_start("probe");
    unknown_lengths(&t);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    selects(&t);
    posted_first(&t);
    counts(&t);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    static const int sizes[] = {0, 40, 8193, 100000};
    for (int i = 0; i < 4; ++i)
        iprobe_makes_progress(&t, sizes[i]);
    return check_finish(&t);
}
