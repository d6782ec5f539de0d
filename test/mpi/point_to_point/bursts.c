// SPDX-License-Identifier: Apache-2.0
// Many long messages at once, from 17 000 to 70 000 bytes, to a receiver that waits, posts late,
// posts in another order, probes, has gaps in its elements or too little room: all arrive whole and
// in order, whichever of them travel without being asked for (HEADWAY_EAGER_LIMIT_INSIDE).
#include "../check.h"

enum { messages = 60, bytes_min = 17000, bytes_max = 70000, tag_data = 3, tag_go = 4, rounds = 3 };

static int length_of(int i)
{
    return bytes_min + (i * 7919) % (bytes_max - bytes_min + 1);
}

struct burst {
    unsigned char* out;  // room for all messages, each at a place of its own
    unsigned char* in;
    MPI_Request requests[messages];
    int peer;
};

static unsigned char* place(unsigned char* bytes, int i)
{
    return bytes + (size_t)i * bytes_max;
}

static void send_all(struct check* t, struct burst* b, int tag_step)
{
    for (int i = 0; i < messages; ++i) {
        CHECK_CALL(t, MPI_Isend(place(b->out, i), length_of(i), MPI_BYTE, b->peer,
                                tag_data + i * tag_step, MPI_COMM_WORLD, &b->requests[i]));
    }
    CHECK_CALL(t, MPI_Waitall(messages, b->requests, MPI_STATUSES_IGNORE));
}

static void check_all(struct check* t, struct burst* b)
{
    for (int i = 0; i < messages; ++i) {
        CHECK_PATTERN(t, place(b->in, i), (size_t)length_of(i), (uint64_t)i);
        memset(place(b->in, i), 0, bytes_max);
    }
}

// The receives are there first, in order.
static void posted(struct check* t, struct burst* b)
{
    if (t->rank % 2 == 0) {
        CHECK_CALL(t,
                   MPI_Recv(NULL, 0, MPI_BYTE, b->peer, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        send_all(t, b, 0);
        return;
    }
    for (int i = 0; i < messages; ++i) {
        CHECK_CALL(t, MPI_Irecv(place(b->in, i), length_of(i), MPI_BYTE, b->peer, tag_data,
                                MPI_COMM_WORLD, &b->requests[i]));
    }
    CHECK_CALL(t, MPI_Send(NULL, 0, MPI_BYTE, b->peer, tag_go, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Waitall(messages, b->requests, MPI_STATUSES_IGNORE));
    check_all(t, b);
}

// Receives and messages meet while both are started, and the other way round at the same time.
static void both_ways(struct check* t, struct burst* b)
{
    MPI_Request receives[messages];
    for (int i = 0; i < messages; ++i) {
        CHECK_CALL(t, MPI_Irecv(place(b->in, i), bytes_max, MPI_BYTE, b->peer, tag_data,
                                MPI_COMM_WORLD, &receives[i]));
        CHECK_CALL(t, MPI_Isend(place(b->out, i), length_of(i), MPI_BYTE, b->peer, tag_data,
                                MPI_COMM_WORLD, &b->requests[i]));
    }
    CHECK_CALL(t, MPI_Waitall(messages, b->requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < messages; ++i) {
        MPI_Status status;
        int count = 0;
        CHECK_CALL(t, MPI_Wait(&receives[i], &status));
        CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK_INT(t, count, length_of(i));
    }
    check_all(t, b);
}

// The receiver takes the last one first, so that all others are kept, and probes for some.
static void last_first(struct check* t, struct burst* b)
{
    if (t->rank % 2 == 0) {
        send_all(t, b, 1);
        return;
    }
    for (int i = messages - 1; i >= 0; --i) {
        MPI_Status status;
        int count = 0;
        if (i % 5 == 0) {
            CHECK_CALL(t, MPI_Probe(b->peer, tag_data + i, MPI_COMM_WORLD, &status));
            CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK_INT(t, count, length_of(i));
        }
        CHECK_CALL(t, MPI_Recv(place(b->in, i), bytes_max, MPI_BYTE, b->peer, tag_data + i,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    check_all(t, b);
}

// Wherever the messages are taken from, wildcards see them in the order of sending.
static void wild(struct check* t, struct burst* b)
{
    if (t->rank % 2 == 0) {
        send_all(t, b, 1);
        return;
    }
    for (int i = 0; i < messages; ++i) {
        MPI_Status status;
        CHECK_CALL(t, MPI_Recv(place(b->in, i), bytes_max, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                               MPI_COMM_WORLD, &status));
        CHECK_INT(t, status.MPI_TAG, tag_data + i);
        CHECK_INT(t, status.MPI_SOURCE, b->peer);
    }
    check_all(t, b);
}

// Every second 16 bytes of the target; blocking sends.
static void to_gaps(struct check* t, struct burst* b)
{
    MPI_Datatype spread;
    if (t->rank % 2 == 0) {
        for (int i = 0; i < messages / 2; ++i) {
            CHECK_CALL(t, MPI_Send(place(b->out, i), length_of(i) / 16 * 16, MPI_BYTE, b->peer,
                                   tag_data, MPI_COMM_WORLD));
        }
        return;
    }
    CHECK_CALL(t, MPI_Type_vector(bytes_max / 16, 16, 32, MPI_BYTE, &spread));
    CHECK_CALL(t, MPI_Type_commit(&spread));
    for (int i = 0; i < messages / 2; ++i) {
        unsigned char* const target = b->in;
        CHECK_CALL(
            t, MPI_Irecv(target, 1, spread, b->peer, tag_data, MPI_COMM_WORLD, &b->requests[0]));
        CHECK_CALL(t, MPI_Wait(&b->requests[0], MPI_STATUS_IGNORE));
        for (int run = 0; run < length_of(i) / 16; ++run)
            memmove(target + (size_t)run * 16, target + (size_t)run * 32, 16);
        CHECK_PATTERN(t, target, (size_t)(length_of(i) / 16 * 16), (uint64_t)i);
    }
    CHECK_CALL(t, MPI_Type_free(&spread));
}

// Too little room fails at the receiver alone, which has what fits.
static void truncated(struct check* t, struct burst* b)
{
    if (t->rank % 2 == 0) {
        send_all(t, b, 0);
        return;
    }
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < messages; ++i) {
        const int room = i % 3 == 0 ? bytes_min - 1000 : bytes_max;
        const int code = MPI_Recv(place(b->in, i), room, MPI_BYTE, b->peer, tag_data,
                                  MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_INT(t, check_error_class(code), i % 3 == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        CHECK_PATTERN(t, place(b->in, i), (size_t)(i % 3 == 0 ? room : length_of(i)), (uint64_t)i);
    }
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

// Blocking exchanges, in which either side may come first.
static void exchanged(struct check* t, struct burst* b)
{
    for (int i = 0; i < messages; ++i) {
        CHECK_CALL(t, MPI_Sendrecv(place(b->out, i), length_of(i), MPI_BYTE, b->peer, tag_data,
                                   place(b->in, i), bytes_max, MPI_BYTE, b->peer, tag_data,
                                   MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    check_all(t, b);
}

static int test_main(void)
{
    struct check t = check_start("bursts");
    struct burst b = {.peer = t.rank ^ 1};
    if (b.peer < t.size) {
        b.out = check_memory((size_t)messages * bytes_max);
        b.in = check_memory((size_t)messages * bytes_max * 2);
        for (int i = 0; i < messages; ++i)
            check_fill(place(b.out, i), bytes_max, (uint64_t)i);
        for (int round = 0; round < rounds; ++round) {
            posted(&t, &b);
            both_ways(&t, &b);
            last_first(&t, &b);
            wild(&t, &b);
            to_gaps(&t, &b);
            truncated(&t, &b);
            exchanged(&t, &b);
        }
        free(b.out);
        free(b.in);
    }
    return check_finish(&t);
}
