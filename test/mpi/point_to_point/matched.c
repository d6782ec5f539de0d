// SPDX-License-Identifier: Apache-2.0
// Matched probes take a message out of the matching: nobody else sees it, the ones behind it move
// up, and only its own receive gets it, whenever that comes.
#include "../check.h"

enum { tag_a = 1, tag_b = 2, long_bytes = 60000, rounds = 60 };

static int length_of(int i)
{
    return i % 4 == 3 ? long_bytes + i : (i * 131) % 3000;
}

// Client loop of unknown lengths from all ranks; blocking and non-blocking forms in turn.
static void unknown_lengths(struct check* t)
{
    MPI_Status status;
    if (t->rank > 0) {
        for (int i = 0; i < rounds; ++i) {
            unsigned char* out = check_memory((size_t)length_of(i));
            check_fill(out, (size_t)length_of(i), (uint64_t)(t->rank * 1000 + i));
            CHECK_CALL(t, MPI_Send(out, length_of(i), MPI_BYTE, 0, i, MPI_COMM_WORLD));
            free(out);
        }
        return;
    }
    for (int k = 0; k < rounds * (t->size - 1); ++k) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Request request = MPI_REQUEST_NULL;
        int bytes = -1, flag = 0;
        if (k % 2) {
            CHECK_CALL(t,
                       MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
        }
        while (k % 2 == 0 && !flag) {
            CHECK_CALL(t, MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message,
                                      &status));
        }
        CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &bytes));
        if (!CHECK_INT(t, bytes, length_of(status.MPI_TAG)))
            return;
        unsigned char* in = check_memory((size_t)bytes);
        MPI_Status taken;
        if (k % 3 == 0) {
            CHECK_CALL(t, MPI_Imrecv(in, bytes, MPI_BYTE, &message, &request));
            CHECK_CALL(t, MPI_Wait(&request, &taken));
        } else {
            CHECK_CALL(t, MPI_Mrecv(in, bytes, MPI_BYTE, &message, &taken));
        }
        CHECK(t, message == MPI_MESSAGE_NULL);
        CHECK_INT(t, taken.MPI_SOURCE, status.MPI_SOURCE);
        CHECK_INT(t, taken.MPI_TAG, status.MPI_TAG);
        CHECK_PATTERN(t, in, (size_t)bytes, (uint64_t)(status.MPI_SOURCE * 1000 + status.MPI_TAG));
        free(in);
    }
}

// Held messages are out of sight, and are received in an order of the caller's choice.
static void held(struct check* t, int bytes)
{
    enum { count = 5 };
    unsigned char *out[count], *in = check_memory((size_t)bytes);
    MPI_Request sent[count];
    MPI_Message messages[count];
    MPI_Status status;
    int flag = 1, got = -1;
    for (int i = 0; i < count; ++i) {
        out[i] = check_memory((size_t)bytes);
        check_fill(out[i], (size_t)bytes, (uint64_t)(i + 60));
        CHECK_CALL(t, MPI_Isend(out[i], bytes, MPI_BYTE, t->rank, i == 2 ? tag_b : tag_a,
                                MPI_COMM_WORLD, &sent[i]));
    }
    for (int i = 0; i < count; ++i) {
        CHECK_CALL(t, MPI_Mprobe(t->rank, i == 2 ? tag_b : tag_a, MPI_COMM_WORLD, &messages[i],
                                 i % 2 ? &status : MPI_STATUS_IGNORE));
    }
    CHECK_CALL(t, MPI_Iprobe(t->rank, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(t, flag, 0);
    for (int k = 0; k < count; ++k) {
        const int i = (k * 3 + 1) % count;
        CHECK_CALL(t, MPI_Mrecv(in, bytes, MPI_BYTE, &messages[i], &status));
        CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &got));
        CHECK_INT(t, got, bytes);
        CHECK_INT(t, status.MPI_TAG, i == 2 ? tag_b : tag_a);
        CHECK_PATTERN(t, in, (size_t)bytes, (uint64_t)(i + 60));
    }
    CHECK_CALL(t, MPI_Waitall(count, sent, MPI_STATUSES_IGNORE));
    for (int i = 0; i < count; ++i)
        free(out[i]);
    free(in);
}

static void null_process(struct check* t)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0, count = -1;
    for (int round = 0; round < 4; ++round) {
        memset(&status, 0x7F, sizeof status);
        if (round % 2) {
            CHECK_CALL(t, MPI_Mprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &message, &status));
        } else {
            CHECK_CALL(t, MPI_Improbe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &flag, &message, &status));
            CHECK_INT(t, flag, 1);
        }
        CHECK(t, message == MPI_MESSAGE_NO_PROC);
        CHECK_INT(t, status.MPI_SOURCE, MPI_PROC_NULL);
        CHECK_INT(t, status.MPI_TAG, MPI_ANY_TAG);
        memset(&status, 0x7F, sizeof status);
        if (round < 2) {
            CHECK_CALL(t, MPI_Mrecv(NULL, 0, MPI_INT, &message, &status));
        } else {
            CHECK_CALL(t, MPI_Imrecv(NULL, 0, MPI_INT, &message, &request));
            CHECK(t, request != MPI_REQUEST_NULL);
            CHECK_CALL(t, MPI_Wait(&request, &status));
        }
        CHECK(t, message == MPI_MESSAGE_NULL);
        CHECK_INT(t, status.MPI_SOURCE, MPI_PROC_NULL);
        CHECK_CALL(t, MPI_Get_count(&status, MPI_INT, &count));
        CHECK_INT(t, count, 0);
    }
}

// A communicator may be freed while a message that was probed on it waits.
static void freed_communicator(struct check* t)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    int out = 42 + t->rank, in = 0;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MPI_Request sent;
    CHECK_CALL(t, MPI_Isend(&out, 1, MPI_INT, 0, 1, comm, &sent));
    CHECK_CALL(t, MPI_Mprobe(0, 1, comm, &message, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Comm_free(&comm));
    CHECK_CALL(t, MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_INT(t, in, 42 + t->rank);
}

static void refuses(struct check* t)
{
    int out[4] = {1, 2, 3, 4}, in[4] = {0, 0, 0, 0}, count = -1;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request = MPI_REQUEST_NULL, sent;
    MPI_Status status;
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    REFUSED(t, MPI_Mrecv(in, 4, MPI_INT, &message, &status), MPI_ERR_REQUEST, MPI_ERR_ARG);
    REFUSED(t, MPI_Imrecv(in, 4, MPI_INT, &message, &request), MPI_ERR_REQUEST, MPI_ERR_ARG);
    CHECK_CALL(t, MPI_Isend(out, 4, MPI_INT, 0, 1, MPI_COMM_SELF, &sent));
    CHECK_CALL(t, MPI_Mprobe(0, 1, MPI_COMM_SELF, &message, &status));
    const MPI_Message stale = message;
    REFUSED(t, MPI_Mrecv(in, 2, MPI_INT, &message, &status), MPI_ERR_TRUNCATE);
    CHECK_CALL(t, MPI_Get_count(&status, MPI_INT, &count));
    CHECK_INT(t, in[0] == 1 && in[1] == 2 && in[2] == 0, 1);
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    if (!t->skip_garbage) {
        message = stale;
        REFUSED(t, MPI_Mrecv(in, 4, MPI_INT, &message, &status), MPI_ERR_REQUEST, MPI_ERR_ARG);
    }
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

static int test_main(void)
{
    struct check t = check_start("matched");
    unknown_lengths(&t);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    held(&t, 0);
    held(&t, 100);
    held(&t, long_bytes);
    null_process(&t);
    freed_communicator(&t);
    refuses(&t);
    return check_finish(&t);
}
