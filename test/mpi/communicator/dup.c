// SPDX-License-Identifier: Apache-2.0
// A duplicate has the same group and its own context: messages and collectives do not cross.
#include "../check.h"

enum { many = 40 };

static void contexts_are_apart(struct check* t)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    MPI_Comm comms[3];
    MPI_Request sent[3];
    int flag = 1;
    comms[0] = MPI_COMM_WORLD;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    CHECK_CALL(t, MPI_Comm_dup(comms[1], &comms[2]));
    int out[3], in[3] = {-1, -1, -1};
    for (int c = 0; c < 3; ++c) {
        out[c] = 100 * c + t->rank;
        CHECK_CALL(t, MPI_Isend(&out[c], 1, MPI_INT, to, 5, comms[c], &sent[c]));
    }
    // Taken in the other order, with wildcards: only the context can tell them apart.
    for (int c = 2; c >= 0; --c) {
        CHECK_CALL(t, MPI_Recv(&in[c], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c],
                               MPI_STATUS_IGNORE));
        CHECK_INT(t, in[c], 100 * c + from);
    }
    CHECK_CALL(t, MPI_Waitall(3, sent, MPI_STATUSES_IGNORE));
    for (int c = 0; c < 3; ++c) {
        CHECK_CALL(t, MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &flag, MPI_STATUS_IGNORE));
        CHECK_INT(t, flag, 0);
    }
    CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Comm_free(&comms[1]));
    CHECK(t, comms[1] == MPI_COMM_NULL);
    CHECK_CALL(t, MPI_Comm_free(&comms[2]));
}

// A posted wildcard receive on the parent stays open while the duplicate is busy.
static void posted_wildcard(struct check* t)
{
    MPI_Comm copy;
    MPI_Request open;
    int in = -1, value = -1, flag = 1, mine = t->rank + 1, sum = 0;
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &open));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CHECK_CALL(t, MPI_Sendrecv(&mine, 1, MPI_INT, t->rank, 1, &value, 1, MPI_INT, t->rank, 1, copy,
                               MPI_STATUS_IGNORE));
    CHECK_INT(t, value, mine);
    CHECK_CALL(t, MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, copy));
    CHECK_INT(t, sum, t->size * (t->size + 1) / 2);
    CHECK_CALL(t, MPI_Test(&open, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Barrier(copy));
    CHECK_CALL(t, MPI_Send(&mine, 1, MPI_INT, (t->rank + 1) % t->size, 2, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Wait(&open, MPI_STATUS_IGNORE));
    CHECK_INT(t, in, (t->rank + t->size - 1) % t->size + 1);
    CHECK_CALL(t, MPI_Comm_free(&copy));
}

static void many_at_once(struct check* t)
{
    MPI_Comm comms[many];
    for (int c = 0; c < many; ++c)
        CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]));
    for (int c = 0; c < many; ++c) {
        int value = t->rank == c % t->size ? c : -1;
        CHECK_CALL(t, MPI_Bcast(&value, 1, MPI_INT, c % t->size, comms[c]));
        CHECK_INT(t, value, c);
    }
    for (int c = 0; c < many; ++c)
        CHECK_CALL(t, MPI_Comm_free(&comms[(c * 7) % many]));
}

// Made and freed over and over: contexts come back. CHECK_TURNS: how often; a long run has more
// turns than there can be contexts at a time.
static void over_and_over(struct check* t)
{
    const long turns = check_setting("CHECK_TURNS", 300);
    for (int i = 0; i < turns; ++i) {
        MPI_Comm copy;
        int got = -1;
        CHECK_CALL(t, MPI_Comm_dup(i % 2 ? MPI_COMM_WORLD : MPI_COMM_SELF, &copy));
        if (i % 10 == 1) {
            const int to = (t->rank + 1) % t->size;
            CHECK_CALL(t, MPI_Sendrecv(&i, 1, MPI_INT, to, 1, &got, 1, MPI_INT, MPI_ANY_SOURCE, 1,
                                       copy, MPI_STATUS_IGNORE));
            CHECK_INT(t, got, i);
        }
        CHECK_CALL(t, MPI_Comm_free(&copy));
    }
}

static int test_main(void)
{
    struct check t = check_start("dup");
    contexts_are_apart(&t);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    posted_wildcard(&t);
    many_at_once(&t);
    over_and_over(&t);
    return check_finish(&t);
}
