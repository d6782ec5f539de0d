// SPDX-License-Identifier: Apache-2.0
// Sendrecv round a ring, pairwise and on oneself; MPI_PROC_NULL in every call that takes a
// rank; messages of a rank to itself.
#include "../check.h"

static void check_from_nobody(struct check* t, const MPI_Status* status)
{
    int count = -1;
    CHECK_INT(t, status->MPI_SOURCE, MPI_PROC_NULL);
    CHECK_INT(t, status->MPI_TAG, MPI_ANY_TAG);
    CHECK_CALL(t, MPI_Get_count(status, MPI_INT, &count));
    CHECK_INT(t, count, 0);
}

static void proc_null(struct check* t)
{
    int value = 17, flag = 0;
    MPI_Status status;
    MPI_Request requests[4];
    CHECK_CALL(t, MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Rsend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    check_from_nobody(t, &status);
    CHECK_INT(t, value, 17);
    CHECK_CALL(t, MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    check_from_nobody(t, &status);
    CHECK_CALL(t, MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK_INT(t, flag, 1);
    check_from_nobody(t, &status);
    CHECK_CALL(t, MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPI_Issend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]));
    CHECK_CALL(t, MPI_Irsend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[2]));
    CHECK_CALL(t, MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[3]));
    CHECK_CALL(t, MPI_Wait(&requests[3], &status));
    check_from_nobody(t, &status);
    CHECK_CALL(t, MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK_CALL(t, MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &value, 1, MPI_INT,
                               MPI_PROC_NULL, 2, MPI_COMM_WORLD, &status));
    check_from_nobody(t, &status);
    CHECK_INT(t, value, 17);
}

// A line of ranks: the ends talk to nobody.
static void line(struct check* t)
{
    const int left = t->rank > 0 ? t->rank - 1 : MPI_PROC_NULL;
    const int right = t->rank + 1 < t->size ? t->rank + 1 : MPI_PROC_NULL;
    int from_left = -1;
    MPI_Status status;
    CHECK_CALL(t, MPI_Sendrecv(&t->rank, 1, MPI_INT, right, 4, &from_left, 1, MPI_INT, left, 4,
                               MPI_COMM_WORLD, &status));
    CHECK_INT(t, from_left, t->rank > 0 ? t->rank - 1 : -1);
    CHECK_INT(t, status.MPI_SOURCE, left);
}

static void ring(struct check* t, int bytes, int distance)
{
    const int to = (t->rank + distance) % t->size;
    const int from = (t->rank + t->size - distance % t->size) % t->size;
    unsigned char *out = check_memory((size_t)bytes), *in = check_memory((size_t)bytes + 8);
    MPI_Status status;
    int count = -1;
    check_fill(out, (size_t)bytes, (uint64_t)t->rank + 50);
    CHECK_CALL(t, MPI_Sendrecv(out, bytes, MPI_BYTE, to, 60 + distance, in, bytes + 8, MPI_BYTE,
                               from, 60 + distance, MPI_COMM_WORLD, &status));
    CHECK_INT(t, status.MPI_SOURCE, from);
    CHECK_INT(t, status.MPI_TAG, 60 + distance);
    CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_INT(t, count, bytes);
    CHECK_PATTERN(t, in, (size_t)bytes, (uint64_t)from + 50);
    free(in);
    free(out);
}

// Different types and tags both ways, any source and any tag on the receiving side.
static void wild(struct check* t)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    const double out[2] = {t->rank + 0.5, -1};
    double in[2] = {0, 0};
    MPI_Status status;
    CHECK_CALL(t, MPI_Sendrecv(out, 2, MPI_DOUBLE, to, 77, in, 2, MPI_DOUBLE, MPI_ANY_SOURCE,
                               MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK_INT(t, status.MPI_SOURCE, from);
    CHECK_INT(t, status.MPI_TAG, 77);
    CHECK(t, in[0] == from + 0.5 && in[1] == -1);
}

// MPI_COMM_SELF and MPI_COMM_WORLD are apart even where both address the same rank.
static void self(struct check* t)
{
    int world = 1, own = 2, got = 0, flag = -1;
    MPI_Request requests[2];
    MPI_Status status;
    CHECK_CALL(t, MPI_Isend(&world, 1, MPI_INT, t->rank, 5, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPI_Isend(&own, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[1]));
    CHECK_CALL(t, MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_SELF, &status));
    CHECK_INT(t, got, 2);
    CHECK_INT(t, status.MPI_SOURCE, 0);
    CHECK_CALL(t, MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &status));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Recv(&got, 1, MPI_INT, t->rank, 5, MPI_COMM_WORLD, &status));
    CHECK_INT(t, got, 1);
    CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

static int test_main(void)
{
    struct check t = check_start("sendrecv");
    static const int sizes[] = {0, 1, 40, 41, 4096, 8191, 8192, 8193, 65536, 1000001};
    proc_null(&t);
    line(&t);
    for (int i = 0; i < 10; ++i) {
        for (int distance = 0; distance <= t.size; ++distance)
            ring(&t, sizes[i], distance);
    }
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    wild(&t);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    self(&t);
    return check_finish(&t);
}
