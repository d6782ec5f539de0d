// SPDX-License-Identifier: Apache-2.0
// Every call of the chapter with MPI_PROC_NULL returns at once, moves nothing and gives the status
// of a receive from nobody.
#include "../check.h"

enum { sends = 5, tag = 2 };

static void nobody(struct check* t, MPI_Status* status)
{
    int count = -1, cancelled = -1;
    CHECK_INT(t, status->MPI_SOURCE, MPI_PROC_NULL);
    CHECK_INT(t, status->MPI_TAG, MPI_ANY_TAG);
    CHECK_CALL(t, MPI_Get_count(status, MPI_INT, &count));
    CHECK_INT(t, count, 0);
    CHECK_CALL(t, MPI_Test_cancelled(status, &cancelled));
    CHECK_INT(t, cancelled, 0);
    memset(status, 0x6B, sizeof *status);
}

static void sending(struct check* t)
{
    const int out[3] = {1, 2, 3};
    MPI_Request requests[sends];
    CHECK_CALL(t, MPI_Send(out, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Ssend(out, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Rsend(out, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Bsend(out, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Isend(out, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPI_Issend(out, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &requests[1]));
    CHECK_CALL(t, MPI_Irsend(out, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &requests[2]));
    CHECK_CALL(t, MPI_Ibsend(out, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &requests[3]));
    CHECK_CALL(t, MPI_Isend_c(out, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &requests[4]));
    for (int i = 0; i < sends; ++i)
        CHECK(t, requests[i] != MPI_REQUEST_NULL);
    CHECK_CALL(t, MPI_Waitall(sends, requests, MPI_STATUSES_IGNORE));
}

static void receiving(struct check* t)
{
    int in[3] = {7, 8, 9}, flag = 0;
    MPI_Request request;
    MPI_Status status;
    CHECK_CALL(t, MPI_Recv(in, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &status));
    nobody(t, &status);
    CHECK_CALL(t, MPI_Recv(in, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Irecv(in, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &request));
    CHECK_CALL(t, MPI_Wait(&request, &status));
    nobody(t, &status);
    CHECK_CALL(t, MPI_Irecv(in, 3, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &request));
    CHECK_CALL(t, MPI_Cancel(&request));
    CHECK_CALL(t, MPI_Test(&request, &flag, &status));
    CHECK_INT(t, flag, 1);
    nobody(t, &status);
    CHECK_CALL(t, MPI_Probe(MPI_PROC_NULL, tag, MPI_COMM_WORLD, &status));
    nobody(t, &status);
    CHECK_CALL(t, MPI_Iprobe(MPI_PROC_NULL, tag, MPI_COMM_WORLD, &flag, &status));
    CHECK_INT(t, flag, 1);
    nobody(t, &status);
    CHECK_CALL(t, MPI_Sendrecv(in, 1, MPI_INT, MPI_PROC_NULL, tag, in + 1, 1, MPI_INT,
                               MPI_PROC_NULL, tag, MPI_COMM_WORLD, &status));
    nobody(t, &status);
    CHECK_INT(t, in[0] == 7 && in[1] == 8 && in[2] == 9, 1);
}

static int test_main(void)
{
    struct check t = check_start("proc_null");
    sending(&t);
    receiving(&t);
    return check_finish(&t);
}
