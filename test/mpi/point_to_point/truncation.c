// SPDX-License-Identifier: Apache-2.0
// A message longer than its receive buffer gives MPI_ERR_TRUNCATE to the receiver only, does
// not write past the buffer, and leaves later messages whole.
#include "../check.h"

enum { tag_long = 1, tag_next = 2, tag_end = 3, tag_go = 4 };

struct shape {
    int sent;
    int room;
};

static const struct shape shapes[] = {
    {1, 0}, {41, 40}, {100, 0}, {5000, 100}, {9000, 8999}, {70000, 64}, {3000000, 4000},
};

static void check_buffer(struct check* t, const unsigned char* in, int room, uint64_t seed)
{
    // What was written below `room` is undefined but for being the message's or unchanged.
    for (int i = 0; i < room; ++i) {
        if (in[i] != 0xEE && in[i] != check_byte(seed, (size_t)i)) {
            CHECK_INT(t, in[i], check_byte(seed, (size_t)i));
            return;
        }
    }
    for (int i = room; i < room + check_guard_bytes; ++i) {
        if (!CHECK_INT(t, in[i], 0xEE))
            return;
    }
}

static void sender(struct check* t, const struct shape* shape, int to, int posted)
{
    unsigned char* out = check_memory((size_t)shape->sent);
    MPI_Request requests[3];
    const int next = 4711;
    check_fill(out, (size_t)shape->sent, 9);
    if (posted) {
        CHECK_CALL(t, MPI_Recv(NULL, 0, MPI_INT, to, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    CHECK_CALL(t,
               MPI_Isend(out, shape->sent, MPI_BYTE, to, tag_long, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPI_Isend(&next, 1, MPI_INT, to, tag_next, MPI_COMM_WORLD, &requests[1]));
    CHECK_CALL(t, MPI_Isend(NULL, 0, MPI_INT, to, tag_end, MPI_COMM_WORLD, &requests[2]));
    CHECK_CALL(t, MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    free(out);
}

static void receiver(struct check* t, const struct shape* shape, int from, int posted)
{
    int next = 0;
    MPI_Status statuses[2];
    MPI_Request requests[2];
    unsigned char* buffer = check_memory((size_t)shape->room + check_guard_bytes);
    memset(buffer, 0xEE, (size_t)shape->room + check_guard_bytes);
    memset(statuses, 0, sizeof statuses);
    if (!posted) {
        CHECK_CALL(t, MPI_Probe(from, tag_end, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        REFUSED(
            t,
            MPI_Recv(buffer, shape->room, MPI_BYTE, from, tag_long, MPI_COMM_WORLD, &statuses[0]),
            MPI_ERR_TRUNCATE);
        CHECK_CALL(t, MPI_Recv(&next, 1, MPI_INT, from, tag_next, MPI_COMM_WORLD, &statuses[1]));
    } else {
        CHECK_CALL(t, MPI_Irecv(buffer, shape->room, MPI_BYTE, from, tag_long, MPI_COMM_WORLD,
                                &requests[0]));
        CHECK_CALL(t, MPI_Irecv(&next, 1, MPI_INT, from, tag_next, MPI_COMM_WORLD, &requests[1]));
        CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, from, tag_go, MPI_COMM_WORLD));
        REFUSED(t, MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
        CHECK_INT(t, check_error_class(statuses[0].MPI_ERROR), MPI_ERR_TRUNCATE);
        if (check_error_class(statuses[1].MPI_ERROR) == MPI_ERR_PENDING) {
            CHECK_CALL(t, MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        } else {
            CHECK_INT(t, statuses[1].MPI_ERROR, MPI_SUCCESS);
        }
        CHECK(t, requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    }
    CHECK_INT(t, next, 4711);
    CHECK_CALL(t, MPI_Recv(NULL, 0, MPI_INT, from, tag_end, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check_buffer(t, buffer, shape->room, 9);
    free(buffer);
}

// Wait, Waitany and Sendrecv on oneself report the class too.
static void to_self(struct check* t)
{
    int out[4] = {1, 2, 3, 4}, in[4] = {0, 0, 0, -7}, index = -1;
    MPI_Request sent, receive;
    MPI_Status status;
    memset(&status, 0, sizeof status);
    CHECK_CALL(t, MPI_Irecv(in, 3, MPI_INT, t->rank, 8, MPI_COMM_WORLD, &receive));
    CHECK_CALL(t, MPI_Isend(out, 4, MPI_INT, t->rank, 8, MPI_COMM_WORLD, &sent));
    REFUSED(t, MPI_Wait(&receive, &status), MPI_ERR_TRUNCATE);
    CHECK(t, receive == MPI_REQUEST_NULL);
    CHECK_INT(t, in[3], -7);
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Isend(out, 4, MPI_INT, t->rank, 8, MPI_COMM_WORLD, &sent));
    CHECK_CALL(t, MPI_Irecv(in, 2, MPI_INT, t->rank, 8, MPI_COMM_WORLD, &receive));
    REFUSED(t, MPI_Waitany(1, &receive, &index, &status), MPI_ERR_TRUNCATE);
    CHECK_INT(t, index, 0);
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    REFUSED(t,
            MPI_Sendrecv(out, 4, MPI_INT, t->rank, 9, in, 1, MPI_INT, t->rank, 9, MPI_COMM_WORLD,
                         &status),
            MPI_ERR_TRUNCATE);
}

static int test_main(void)
{
    struct check t = check_start("truncation");
    const int partner = t.rank ^ 1;
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    to_self(&t);
    for (int i = 0; partner < t.size && i < (int)(sizeof shapes / sizeof shapes[0]); ++i) {
        for (int posted = 0; posted < 2; ++posted) {
            if (t.rank % 2 == 0) {
                sender(&t, &shapes[i], partner, posted);
            } else {
                receiver(&t, &shapes[i], partner, posted);
            }
        }
    }
    return check_finish(&t);
}
