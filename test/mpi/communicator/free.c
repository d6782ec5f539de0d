// SPDX-License-Identifier: Apache-2.0
// Comm_free with operations under way: the handle is gone at once, what was started completes
// (MPI 5.0, 7.4.3), and a later communicator does not see what belonged to the freed one.
#include "../check.h"

enum { large_bytes = 300001, small_count = 20 };

static void pending_messages(struct check* t, int bytes)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    unsigned char *out = check_memory((size_t)bytes), *in = check_memory((size_t)bytes);
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Comm comm;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check_fill(out, (size_t)bytes, (uint64_t)t->rank + 9);
    CHECK_CALL(t, MPI_Irecv(in, bytes, MPI_BYTE, from, 1, comm, &requests[0]));
    CHECK_CALL(t, MPI_Isend(out, bytes, MPI_BYTE, to, 1, comm, &requests[1]));
    CHECK_CALL(t, MPI_Comm_free(&comm));
    CHECK(t, comm == MPI_COMM_NULL);
    CHECK_CALL(t, MPI_Wait(&requests[0], &status));
    CHECK_CALL(t, MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    CHECK_INT(t, status.MPI_SOURCE, from);
    CHECK_PATTERN(t, in, (size_t)bytes, (uint64_t)from + 9);
    free(in);
    free(out);
}

static void pending_collectives(struct check* t)
{
    MPI_Comm comm;
    MPI_Request requests[3];
    int out[500], in[500], value = t->rank == 0 ? 99 : -1;
    CHECK_CALL(t, MPI_Comm_split(MPI_COMM_WORLD, 0, -t->rank, &comm));
    for (int i = 0; i < 500; ++i)
        out[i] = t->rank + i;
    CHECK_CALL(t, MPI_Iallreduce(out, in, 500, MPI_INT, MPI_MAX, comm, &requests[0]));
    CHECK_CALL(t, MPI_Ibcast(&value, 1, MPI_INT, t->size - 1, comm, &requests[1]));
    CHECK_CALL(t, MPI_Ibarrier(comm, &requests[2]));
    CHECK_CALL(t, MPI_Comm_free(&comm));
    CHECK_CALL(t, MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 500; ++i)
        CHECK_INT(t, in[i], t->size - 1 + i);
    CHECK_INT(t, value, 99);
}

// Ranks free at different moments and go on with the next communicator meanwhile.
static void uneven(struct check* t)
{
    for (int i = 0; i < 60; ++i) {
        const int to = (t->rank + 1) % t->size;
        MPI_Comm old, next;
        MPI_Request sent[small_count], late;
        int out[small_count], got = -1, last = -1;
        CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &old));
        CHECK_CALL(t, MPI_Irecv(&last, 1, MPI_INT, MPI_ANY_SOURCE, 8, old, &late));
        for (int k = 0; k < small_count; ++k) {
            out[k] = i * small_count + k;
            CHECK_CALL(t, MPI_Isend(&out[k], 1, MPI_INT, to, 8, old, &sent[k]));
        }
        for (int k = 1; k < small_count; ++k) {
            CHECK_CALL(t, MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 8, old, MPI_STATUS_IGNORE));
            CHECK_INT(t, got, i * small_count + k);
        }
        CHECK_CALL(t, MPI_Comm_free(&old));
        CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &next));
        CHECK_CALL(t, MPI_Sendrecv(&i, 1, MPI_INT, to, 8, &got, 1, MPI_INT, MPI_ANY_SOURCE, 8, next,
                                   MPI_STATUS_IGNORE));
        CHECK_INT(t, got, i);
        CHECK_CALL(t, MPI_Wait(&late, MPI_STATUS_IGNORE));
        CHECK_INT(t, last, i * small_count);
        CHECK_CALL(t, MPI_Waitall(small_count, sent, MPI_STATUSES_IGNORE));
        CHECK_CALL(t, MPI_Comm_free(&next));
    }
}

// What waits for its message on a freed communicator gets nobody else's, however many
// communicators the other members make and free meanwhile.
static void late_member(struct check* t)
{
    const int late = 2, turns = 200;
    MPI_Comm freed, pair, next;
    MPI_Request open;
    int got = -1, value = -1, is_there = 0, is_taken = 0;
    if (t->size <= late)
        return;
    CHECK_CALL(t, MPI_Comm_split(MPI_COMM_WORLD, t->rank < late ? 0 : MPI_UNDEFINED, 0, &pair));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &freed));
    if (t->rank == 1)
        CHECK_CALL(t, MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, freed, &open));
    if (t->rank == late) {
        // Only when the others have gone through all of theirs.
        CHECK_CALL(t, MPI_Recv(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_CALL(t, MPI_Send(&late, 1, MPI_INT, 1, 5, freed));
    }
    CHECK_CALL(t, MPI_Comm_free(&freed));
    for (int i = 0; i < turns && t->rank < late && !is_taken; ++i) {
        CHECK_CALL(t, MPI_Comm_dup(pair, &next));
        if (t->rank == 0)
            CHECK_CALL(t, MPI_Send(&i, 1, MPI_INT, 1, 5, next));
        // The message is either there for its receive or has gone to the old one.
        for (is_there = t->rank == 0; !is_there && !is_taken;) {
            CHECK_CALL(t, MPI_Iprobe(0, 5, next, &is_there, MPI_STATUS_IGNORE));
            CHECK_CALL(t, MPI_Request_get_status(open, &is_taken, MPI_STATUS_IGNORE));
        }
        if (t->rank == 1 && !is_taken) {
            CHECK_CALL(t, MPI_Recv(&value, 1, MPI_INT, 0, 5, next, MPI_STATUS_IGNORE));
            CHECK_INT(t, value, i);
        }
        CHECK_CALL(t, MPI_Comm_free(&next));
    }
    if (t->rank == 1) {
        CHECK_INT(t, is_taken, 0);
        CHECK_CALL(t, MPI_Send(&value, 1, MPI_INT, late, 6, MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Wait(&open, MPI_STATUS_IGNORE));
        CHECK_INT(t, got, late);
    }
    if (t->rank < late)
        CHECK_CALL(t, MPI_Comm_free(&pair));
}

// A group outlives its communicator.
static void group_stays(struct check* t)
{
    MPI_Comm comm;
    MPI_Group group;
    int size = -1, rank = -1;
    CHECK_CALL(t, MPI_Comm_split(MPI_COMM_WORLD, 0, -t->rank, &comm));
    CHECK_CALL(t, MPI_Comm_group(comm, &group));
    CHECK_CALL(t, MPI_Comm_free(&comm));
    CHECK_CALL(t, MPI_Group_size(group, &size));
    CHECK_CALL(t, MPI_Group_rank(group, &rank));
    CHECK_INT(t, size, t->size);
    CHECK_INT(t, rank, t->size - 1 - t->rank);
    CHECK_CALL(t, MPI_Group_free(&group));
}

static int test_main(void)
{
    struct check t = check_start("free");
    pending_messages(&t, 1);
    pending_messages(&t, 8193);
    pending_messages(&t, large_bytes);
    pending_collectives(&t);
    uneven(&t);
    late_member(&t);
    group_stays(&t);
    return check_finish(&t);
}
