// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks do not overtake each other, whatever their sizes, and match
// receives in the order these were posted, wildcards included (MPI 5.0, 3.5).
#include "../check.h"

enum { message_count = 60, tag_go = 900, tag_end = 901, room_ints = 70000 };

// Lengths alternate between inline, eager and rendezvous, so that lanes differ.
static int length_of(int i)
{
    static const int ints[] = {1, 2, 10, 11, 300, 2048, 2049, 20000, 1, 65536, 3, 17000};
    return ints[(i * 7) % 12];
}

struct stream {
    int* out;
    int* in;
    MPI_Request requests[message_count + 1];
};

static void send_numbered(struct check* t, struct stream* s, int to, int tag, int i)
{
    // Each message has its own first word, its number; the tails overlap and are only read.
    CHECK_CALL(
        t, MPI_Isend(s->out + i, length_of(i), MPI_INT, to, tag, MPI_COMM_WORLD, &s->requests[i]));
}

// Tags 0..2 in turn; the receiver takes them by exact tag, by ANY_TAG or by ANY_SOURCE.
static void in_order(struct check* t, struct stream* s, int source_wild, int tag_wild)
{
    MPI_Status status;
    int expected[3] = {0, 1, 2};
    if (t->rank == 1) {
        for (int i = 0; i < message_count; ++i)
            send_numbered(t, s, 0, i % 3, i);
        CHECK_CALL(t, MPI_Waitall(message_count, s->requests, MPI_STATUSES_IGNORE));
    }
    if (t->rank != 0)
        return;
    for (int k = 0; k < message_count; ++k) {
        const int tag = tag_wild ? MPI_ANY_TAG : 2 - k / (message_count / 3);
        CHECK_CALL(t, MPI_Recv(s->in, room_ints, MPI_INT, source_wild ? MPI_ANY_SOURCE : 1, tag,
                               MPI_COMM_WORLD, &status));
        const int kind = status.MPI_TAG;
        CHECK_INT(t, status.MPI_SOURCE, 1);
        if (!CHECK(t, kind >= 0 && kind < 3))
            return;
        CHECK_INT(t, s->in[0], tag_wild ? k : expected[kind]);
        expected[kind] += 3;
    }
}

// Receives of one kind, all posted before the first message leaves.
static void all_posted(struct check* t, struct stream* s, int source, int tag)
{
    if (t->rank == 1) {
        CHECK_CALL(t, MPI_Recv(NULL, 0, MPI_INT, 0, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < message_count; ++i)
            send_numbered(t, s, 0, 5, i);
        CHECK_CALL(t, MPI_Waitall(message_count, s->requests, MPI_STATUSES_IGNORE));
    }
    if (t->rank != 0)
        return;
    int* slots = check_memory(sizeof(int) * message_count * (size_t)room_ints);
    for (int i = 0; i < message_count; ++i) {
        CHECK_CALL(t, MPI_Irecv(slots + i * room_ints, room_ints, MPI_INT, source, tag,
                                MPI_COMM_WORLD, &s->requests[i]));
    }
    CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, 1, tag_go, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Waitall(message_count, s->requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < message_count; ++i)
        CHECK_INT(t, slots[i * room_ints], i);
    free(slots);
}

struct row {
    int source;
    int tag;
    int expected;
};

// Exact and wildcard receives mixed; `expected` is the number of the message each one gets when
// the first message that may match goes to the first receive that may take it.
static void mixed_rows(struct check* t, const struct row* rows, int row_count, const int* tags,
                       int posted)
{
    int got[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, values[8];
    MPI_Request requests[8];
    MPI_Status statuses[8];
    if (t->rank == 1) {
        if (posted) {
            CHECK_CALL(t, MPI_Recv(NULL, 0, MPI_INT, 0, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        for (int i = 0; i < row_count; ++i) {
            values[i] = i;
            CHECK_CALL(t,
                       MPI_Isend(&values[i], 1, MPI_INT, 0, tags[i], MPI_COMM_WORLD, &requests[i]));
        }
        if (!posted)
            CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, 0, tag_end, MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Waitall(row_count, requests, MPI_STATUSES_IGNORE));
    }
    if (t->rank != 0)
        return;
    if (!posted) {
        CHECK_CALL(t, MPI_Recv(NULL, 0, MPI_INT, 1, tag_end, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < row_count; ++i) {
        CHECK_CALL(t, MPI_Irecv(&got[i], 1, MPI_INT, rows[i].source, rows[i].tag, MPI_COMM_WORLD,
                                &requests[i]));
    }
    if (posted)
        CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, 1, tag_go, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Waitall(row_count, requests, statuses));
    for (int i = 0; i < row_count; ++i) {
        CHECK_INT(t, got[i], rows[i].expected);
        CHECK_INT(t, statuses[i].MPI_TAG, tags[rows[i].expected]);
        CHECK_INT(t, statuses[i].MPI_SOURCE, 1);
    }
}

static void mixed(struct check* t)
{
    static const int tags[] = {5, 7, 5, 6, 7, 5};
    static const struct row wild_first[] = {{MPI_ANY_SOURCE, MPI_ANY_TAG, 0},
                                            {1, 5, 2},
                                            {1, 7, 1},
                                            {1, MPI_ANY_TAG, 3},
                                            {MPI_ANY_SOURCE, 5, 5},
                                            {MPI_ANY_SOURCE, 7, 4}};
    static const struct row wild_last[] = {
        {1, 7, 1}, {MPI_ANY_SOURCE, 5, 0},           {MPI_ANY_SOURCE, 7, 4},
        {1, 5, 2}, {MPI_ANY_SOURCE, MPI_ANY_TAG, 3}, {1, MPI_ANY_TAG, 5}};
    static const struct row between[] = {{1, 6, 3}, {1, MPI_ANY_TAG, 0},
                                         {1, 5, 2}, {MPI_ANY_SOURCE, MPI_ANY_TAG, 1},
                                         {1, 5, 5}, {MPI_ANY_SOURCE, 7, 4}};
    for (int posted = 0; posted < 2; ++posted) {
        mixed_rows(t, wild_first, 6, tags, posted);
        mixed_rows(t, wild_last, 6, tags, posted);
        mixed_rows(t, between, 6, tags, posted);
    }
}

// Every rank sends numbered messages to rank 0, which takes any of them: each source counts up.
static void from_all(struct check* t)
{
    enum { per_rank = 200 };
    int value[2], *next = calloc((size_t)t->size, sizeof *next);
    MPI_Status status;
    if (t->rank != 0) {
        for (int i = 0; i < per_rank; ++i) {
            value[0] = t->rank;
            value[1] = i;
            CHECK_CALL(t, MPI_Send(value, 2, MPI_INT, 0, i % 5, MPI_COMM_WORLD));
        }
    } else {
        for (int k = 0; k < per_rank * (t->size - 1); ++k) {
            CHECK_CALL(t, MPI_Recv(value, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                                   &status));
            if (!CHECK_INT(t, status.MPI_SOURCE, value[0]))
                break;
            CHECK_INT(t, status.MPI_TAG, value[1] % 5);
            CHECK_INT(t, value[1], next[value[0]]);
            ++next[value[0]];
        }
    }
    free(next);
}

static int test_main(void)
{
    struct check t = check_start("order");
    struct stream s;
    s.out = calloc(room_ints + message_count, sizeof(int));
    s.in = calloc(room_ints, sizeof(int));
    CHECK(&t, s.out != NULL && s.in != NULL);
    for (int i = 0; i < message_count; ++i)
        s.out[i] = i;
    if (t.size > 1) {
        for (int wild = 0; wild < 4; ++wild) {
            in_order(&t, &s, wild & 1, wild >> 1);
            CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
        }
        all_posted(&t, &s, 1, 5);
        all_posted(&t, &s, 1, MPI_ANY_TAG);
        all_posted(&t, &s, MPI_ANY_SOURCE, 5);
        all_posted(&t, &s, MPI_ANY_SOURCE, MPI_ANY_TAG);
        CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
        mixed(&t);
        CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
        from_all(&t);
    }
    free(s.out);
    free(s.in);
    return check_finish(&t);
}
