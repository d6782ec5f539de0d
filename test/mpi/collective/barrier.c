// SPDX-License-Identifier: Apache-2.0
// No rank leaves a barrier before every rank has entered it; shown by messages: the last rank
// enters only after it has looked for word of anyone who left.
#include "../check.h"

enum { tag_entering = 1, tag_left = 2, looks = 100 };

static int nobody_left(struct check* t)
{
    int flag = 0;
    for (int i = 0; i < looks && !flag; ++i) {
        CHECK_CALL(t,
                   MPI_Iprobe(MPI_ANY_SOURCE, tag_left, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    return !flag;
}

static void hear_from_others(struct check* t, int tag)
{
    for (int i = 0; i + 1 < t->size; ++i) {
        CHECK_CALL(
            t, MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void blocking(struct check* t, int late)
{
    if (t->rank == late) {
        hear_from_others(t, tag_entering);
        CHECK(t, nobody_left(t));
        CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
        hear_from_others(t, tag_left);
    } else {
        CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, late, tag_entering, MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, late, tag_left, MPI_COMM_WORLD));
    }
}

static void started(struct check* t, int late)
{
    MPI_Request request;
    int flag = 0;
    if (t->rank == late) {
        hear_from_others(t, tag_entering);
        CHECK_CALL(t, MPI_Ibarrier(MPI_COMM_WORLD, &request));
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        return;
    }
    CHECK_CALL(t, MPI_Ibarrier(MPI_COMM_WORLD, &request));
    for (int i = 0; i < looks && !flag; ++i) {
        CHECK_CALL(t, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    }
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, late, tag_entering, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(t, request == MPI_REQUEST_NULL);
}

// Barriers back to back, a value of each round carried by messages that must not lag behind.
static void back_to_back(struct check* t)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    for (int round = 0; round < 200; ++round) {
        int got = -1;
        MPI_Request sent;
        CHECK_CALL(t, MPI_Isend(&round, 1, MPI_INT, to, 9, MPI_COMM_WORLD, &sent));
        CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Recv(&got, 1, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_INT(t, got, round);
        CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    }
}

static int test_main(void)
{
    struct check t = check_start("barrier");
    MPI_Request request;
    for (int round = 0; round < 3; ++round) {
        for (int late = 0; late < t.size; ++late) {
            blocking(&t, late);
            started(&t, late);
        }
    }
    back_to_back(&t);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_SELF));
    CHECK_CALL(&t, MPI_Ibarrier(MPI_COMM_SELF, &request));
    CHECK_CALL(&t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    return check_finish(&t);
}
