// SPDX-License-Identifier: Apache-2.0
// Request_get_status and its forms for several requests look and leave the requests alone; and a
// receive is cancelled or completes, never both.
#include "../check.h"

enum { count = 4, tag = 3 };

static void several(struct check* t)
{
    int in[count] = {0}, out[count], flag = 1, index = 7, outcount = -7, indices[count];
    MPI_Request requests[count + 1], sent;
    MPI_Status statuses[count + 1], status;
    for (int i = 0; i < count; ++i) {
        out[i] = 10 + i;
        CHECK_CALL(t, MPI_Irecv(&in[i], 1, MPI_INT, t->rank, i, MPI_COMM_WORLD, &requests[i]));
    }
    requests[count] = MPI_REQUEST_NULL;
    CHECK_CALL(t, MPI_Request_get_status_all(count + 1, requests, &flag, statuses));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Request_get_status_any(count + 1, requests, &index, &flag, &status));
    CHECK_INT(t, flag, 0);
    CHECK_INT(t, index, MPI_UNDEFINED);
    CHECK_CALL(t, MPI_Request_get_status_some(count + 1, requests, &outcount, indices, statuses));
    CHECK_INT(t, outcount, 0);
    CHECK_CALL(t, MPI_Isend(&out[2], 1, MPI_INT, t->rank, 2, MPI_COMM_WORLD, &sent));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    for (flag = 0; !flag;) {
        if (MPI_Request_get_status_any(count + 1, requests, &index, &flag, &status))
            break;
    }
    CHECK_INT(t, index, 2);
    CHECK_INT(t, status.MPI_TAG, 2);
    for (int again = 0; again < 2; ++again) {
        CHECK_CALL(t, MPI_Request_get_status_some(count + 1, requests, &outcount, indices,
                                                  again ? MPI_STATUSES_IGNORE : statuses));
        CHECK_INT(t, outcount, 1);
        CHECK_INT(t, indices[0], 2);
        CHECK_INT(t, statuses[0].MPI_TAG, 2);
        CHECK(t, requests[2] != MPI_REQUEST_NULL);
    }
    CHECK_INT(t, in[2], 12);
    for (int i = 0; i < count; ++i) {
        if (i == 2)
            continue;
        CHECK_CALL(t, MPI_Isend(&out[i], 1, MPI_INT, t->rank, i, MPI_COMM_WORLD, &sent));
        CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    }
    for (flag = 0; !flag;) {
        if (MPI_Request_get_status_all(count + 1, requests, &flag, statuses))
            break;
    }
    for (int i = 0; i < count; ++i) {
        CHECK_INT(t, statuses[i].MPI_TAG, i);
        CHECK_INT(t, statuses[i].MPI_SOURCE, t->rank);
    }
    CHECK_INT(t, statuses[count].MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_CALL(t, MPI_Waitall(count + 1, requests, statuses));
    for (int i = 0; i < count; ++i)
        CHECK_INT(t, in[i], 10 + i);
}

static void none_live(struct check* t)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    int flag = 0, index = 0, outcount = 0, indices[2];
    CHECK_CALL(t, MPI_Request_get_status_all(2, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK_INT(t, flag, 1);
    CHECK_CALL(t, MPI_Request_get_status_all(0, NULL, &flag, MPI_STATUSES_IGNORE));
    CHECK_INT(t, flag, 1);
    flag = 0;
    status.MPI_ERROR = MPI_ERR_OTHER;
    CHECK_CALL(t, MPI_Request_get_status_any(2, requests, &index, &flag, &status));
    CHECK_INT(t, flag, 1);
    CHECK_INT(t, index, MPI_UNDEFINED);
    CHECK_INT(t, status.MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_INT(t, status.MPI_ERROR, MPI_SUCCESS);
    CHECK_CALL(t,
               MPI_Request_get_status_some(2, requests, &outcount, indices, MPI_STATUSES_IGNORE));
    CHECK_INT(t, outcount, MPI_UNDEFINED);
}

// The gaps of a pair are left alone and its parts are there once the request is seen complete.
static void seen_complete(struct check* t)
{
    struct {
        double value;
        int index;
    } out = {2.5, 7}, in;
    MPI_Request request, sent;
    MPI_Status status;
    int flag = 0;
    memset(&in, 0x33, sizeof in);
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_DOUBLE_INT, t->rank, tag, MPI_COMM_WORLD, &request));
    CHECK_CALL(t, MPI_Isend(&out, 1, MPI_DOUBLE_INT, t->rank, tag, MPI_COMM_WORLD, &sent));
    while (!flag) {
        if (MPI_Request_get_status(request, &flag, &status) != MPI_SUCCESS)
            break;
    }
    CHECK(t, in.value == 2.5 && in.index == 7);
    in.value = 0;
    CHECK_CALL(t, MPI_Wait(&request, &status));
    CHECK(t, in.value == 0);
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

static void cancels(struct check* t, int bytes)
{
    unsigned char *out = check_memory((size_t)bytes), *in = check_memory((size_t)bytes);
    MPI_Request request, sent;
    MPI_Status status;
    int flag = -1;
    check_fill(out, (size_t)bytes, 8);
    for (int wild = 0; wild < 2; ++wild) {
        CHECK_CALL(t, MPI_Irecv(in, bytes, MPI_BYTE, wild ? MPI_ANY_SOURCE : t->rank, tag,
                                MPI_COMM_WORLD, &request));
        CHECK_CALL(t, MPI_Cancel(&request));
        CHECK_CALL(t, MPI_Wait(&request, &status));
        CHECK_CALL(t, MPI_Test_cancelled(&status, &flag));
        CHECK_INT(t, flag, 1);
    }
    CHECK_CALL(t, MPI_Irecv(in, bytes, MPI_BYTE, t->rank, tag, MPI_COMM_WORLD, &request));
    CHECK_CALL(t, MPI_Isend(out, bytes, MPI_BYTE, t->rank, tag, MPI_COMM_WORLD, &sent));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    // A short send may be over before its message has been matched.
    for (flag = 0; !flag;) {
        if (MPI_Request_get_status(request, &flag, &status) != MPI_SUCCESS)
            break;
    }
    CHECK_CALL(t, MPI_Cancel(&request));
    CHECK_CALL(t, MPI_Wait(&request, &status));
    CHECK_CALL(t, MPI_Test_cancelled(&status, &flag));
    CHECK_INT(t, flag, 0);
    CHECK_PATTERN(t, in, (size_t)bytes, 8);
    free(in);
    free(out);
}

static int test_main(void)
{
    struct check t = check_start("get_status");
    several(&t);
    none_live(&t);
    seen_complete(&t);
    cancels(&t, 40);
    cancels(&t, 100000);
    return check_finish(&t);
}
