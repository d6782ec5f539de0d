// SPDX-License-Identifier: Apache-2.0
// A synchronous send is complete only when its receive has been posted, shown by the order of
// messages and of stamps from the node's one monotonic clock; a ready send finds its receive.
#include <time.h>
#include "../check.h"

enum { tag_data = 1, tag_posted = 2, tag_go = 3, rounds = 20 };

static long long stamp(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sends_first(struct check* t, int partner, void* data, int bytes, int blocking)
{
    MPI_Request sent;
    int flag = 1;
    long long posted = 0;
    if (blocking) {
        CHECK_CALL(t, MPI_Ssend(data, bytes, MPI_BYTE, partner, tag_data, MPI_COMM_WORLD));
    } else {
        CHECK_CALL(t, MPI_Issend(data, bytes, MPI_BYTE, partner, tag_data, MPI_COMM_WORLD, &sent));
        // The partner waits for `go`: its receive is not posted, so the send cannot be done.
        for (int i = 0; i < 50; ++i) {
            CHECK_CALL(t, MPI_Test(&sent, &flag, MPI_STATUS_IGNORE));
            if (!CHECK_INT(t, flag, 0))
                break;
        }
        CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, partner, tag_go, MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    }
    const long long complete = stamp();
    CHECK_CALL(t, MPI_Recv(&posted, 1, MPI_INT64_T, partner, tag_posted, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
    CHECK(t, posted <= complete);
}

static void matched_before_complete(struct check* t, int bytes, int blocking)
{
    const int partner = t->rank ^ 1;
    unsigned char* data = check_memory((size_t)bytes);
    if (t->rank % 2 == 0 && partner < t->size) {
        check_fill(data, (size_t)bytes, 4);
        sends_first(t, partner, data, bytes, blocking);
    } else if (partner < t->size) {
        if (!blocking) {
            CHECK_CALL(
                t, MPI_Recv(NULL, 0, MPI_INT, partner, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        // Seen, but not matched yet.
        CHECK_CALL(t, MPI_Probe(partner, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        const long long posted = stamp();
        CHECK_CALL(t, MPI_Recv(data, bytes, MPI_BYTE, partner, tag_data, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
        CHECK_CALL(t, MPI_Send(&posted, 1, MPI_INT64_T, partner, tag_posted, MPI_COMM_WORLD));
        CHECK_PATTERN(t, data, (size_t)bytes, 4);
    }
    free(data);
}

// To oneself: not complete before the receive is posted, complete after.
static void self(struct check* t, int bytes)
{
    unsigned char *out = check_memory((size_t)bytes), *in = check_memory((size_t)bytes);
    MPI_Request sent;
    int flag = 1;
    check_fill(out, (size_t)bytes, 6);
    CHECK_CALL(t, MPI_Issend(out, bytes, MPI_BYTE, t->rank, tag_data, MPI_COMM_WORLD, &sent));
    for (int i = 0; i < 20; ++i) {
        CHECK_CALL(t, MPI_Test(&sent, &flag, MPI_STATUS_IGNORE));
        if (!CHECK_INT(t, flag, 0))
            break;
    }
    CHECK_CALL(t,
               MPI_Recv(in, bytes, MPI_BYTE, t->rank, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_PATTERN(t, in, (size_t)bytes, 6);
    free(in);
    free(out);
}

// A chain: rank r may pass its Ssend only when r + 1 receives, which it does after its own.
static void chain(struct check* t)
{
    int value = t->rank, got = -1;
    if (t->rank + 1 < t->size) {
        CHECK_CALL(t, MPI_Ssend(&value, 1, MPI_INT, t->rank + 1, tag_data, MPI_COMM_WORLD));
    }
    if (t->rank > 0) {
        CHECK_CALL(t, MPI_Recv(&got, 1, MPI_INT, t->rank - 1, tag_data, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
        CHECK_INT(t, got, t->rank - 1);
    }
}

// Ready sends round a ring, back to back, each receive posted and announced before.
static void ready(struct check* t)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    MPI_Request receives[rounds], sent[rounds];
    int in[rounds], out[rounds];
    for (int i = 0; i < rounds; ++i) {
        out[i] = t->rank * 100 + i;
        CHECK_CALL(t, MPI_Irecv(&in[i], 1, MPI_INT, from, tag_data, MPI_COMM_WORLD, &receives[i]));
    }
    CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < rounds; ++i) {
        if (i % 2 == 0) {
            CHECK_CALL(t, MPI_Irsend(&out[i], 1, MPI_INT, to, tag_data, MPI_COMM_WORLD, &sent[i]));
        } else {
            sent[i] = MPI_REQUEST_NULL;
            CHECK_CALL(t, MPI_Rsend(&out[i], 1, MPI_INT, to, tag_data, MPI_COMM_WORLD));
        }
    }
    CHECK_CALL(t, MPI_Waitall(rounds, receives, MPI_STATUSES_IGNORE));
    CHECK_CALL(t, MPI_Waitall(rounds, sent, MPI_STATUSES_IGNORE));
    for (int i = 0; i < rounds; ++i)
        CHECK_INT(t, in[i], from * 100 + i);
}

static int test_main(void)
{
    struct check t = check_start("synchronous");
    static const int sizes[] = {0, 1, 40, 41, 8192, 8193, 65537, 1 << 20};
    for (int i = 0; i < 8; ++i) {
        matched_before_complete(&t, sizes[i], 0);
        matched_before_complete(&t, sizes[i], 1);
        self(&t, sizes[i]);
    }
    chain(&t);
    ready(&t);
    return check_finish(&t);
}
