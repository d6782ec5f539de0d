// SPDX-License-Identifier: Apache-2.0
// A request freed while active: the handle is gone at once, the operation still completes.
#include "../check.h"

enum { tag_data = 1, tag_seen = 2, count_ints = 30000, churn = 20000 };

static void freed_send(struct check* t, int count)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    int* out = check_memory((size_t)count * sizeof(int));
    int* in = check_memory((size_t)count * sizeof(int));
    MPI_Request request;
    check_fill(out, (size_t)count * sizeof(int), (uint64_t)t->rank);
    CHECK_CALL(t, MPI_Isend(out, count, MPI_INT, to, tag_data, MPI_COMM_WORLD, &request));
    CHECK_CALL(t, MPI_Request_free(&request));
    CHECK(t, request == MPI_REQUEST_NULL);
    CHECK_CALL(t, MPI_Recv(in, count, MPI_INT, from, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_PATTERN(t, in, (size_t)count * sizeof(int), (uint64_t)from);
    // The receiver's word that all came is the only leave to touch the buffer again.
    CHECK_CALL(t, MPI_Sendrecv(NULL, 0, MPI_INT, from, tag_seen, NULL, 0, MPI_INT, to, tag_seen,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    free(in);
    free(out);
}

// A freed receive still takes its message: the one after it goes to the next receive.
static void freed_receive(struct check* t)
{
    int in[2] = {0, 0}, out[2] = {21, 22};
    MPI_Request receive, sent[2];
    CHECK_CALL(t, MPI_Irecv(&in[0], 1, MPI_INT, t->rank, tag_data, MPI_COMM_WORLD, &receive));
    CHECK_CALL(t, MPI_Request_free(&receive));
    CHECK(t, receive == MPI_REQUEST_NULL);
    for (int i = 0; i < 2; ++i) {
        CHECK_CALL(t, MPI_Isend(&out[i], 1, MPI_INT, t->rank, tag_data, MPI_COMM_WORLD, &sent[i]));
    }
    CHECK_CALL(t,
               MPI_Recv(&in[1], 1, MPI_INT, t->rank, tag_data, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Waitall(2, sent, MPI_STATUSES_IGNORE));
    CHECK_INT(t, in[0], 21);
    CHECK_INT(t, in[1], 22);
}

// Started and finished over and over: requests are recycled, none of them lost.
static void recycled(struct check* t)
{
    int in = 0;
    MPI_Request requests[2];
    for (int i = 0; i < churn && t->failures == 0; ++i) {
        const int out = i;
        MPI_Irecv(&in, 1, MPI_INT, t->rank, tag_data, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, t->rank, tag_data, MPI_COMM_WORLD, &requests[1]);
        if (i % 3 == 0) {
            CHECK_CALL(t, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            CHECK_CALL(t, MPI_Request_free(&requests[1]));
        } else {
            CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        }
        CHECK_INT(t, in, i);
    }
}

static int test_main(void)
{
    struct check t = check_start("request_free");
    freed_send(&t, 1);
    freed_send(&t, 2000);
    freed_send(&t, count_ints);
    freed_receive(&t);
    recycled(&t);
    return check_finish(&t);
}
