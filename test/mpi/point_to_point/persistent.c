// SPDX-License-Identifier: Apache-2.0
// Persistent requests: started again and again in every mode and with every datatype, inactive ones
// in every completion call, freed while active and inactive.
#include "../check.h"

enum { tag = 5, rounds = 20, long_ints = 40000, buffer_bytes = 1 << 19 };

struct neighbors {
    int to, from;
};

static struct neighbors ring(const struct check* t)
{
    const struct neighbors n = {(t->rank + 1) % t->size, (t->rank + t->size - 1) % t->size};
    return n;
}

typedef int (*init_function)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static void round_trips(struct check* t, init_function init, int count)
{
    const struct neighbors n = ring(t);
    const size_t bytes = (size_t)count * sizeof(int);
    int* out = check_memory(bytes);
    int* in = check_memory(bytes);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    CHECK_CALL(t, MPI_Recv_init(in, count, MPI_INT, n.from, tag, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, init(out, count, MPI_INT, n.to, tag, MPI_COMM_WORLD, &requests[1]));
    const MPI_Request kept[2] = {requests[0], requests[1]};
    for (int round = 0; round < rounds; ++round) {
        int elements = -1;
        check_fill(out, bytes, (uint64_t)(t->rank * rounds + round));
        memset(in, 0, bytes);
        if (round % 2 == 0) {
            CHECK_CALL(t, MPI_Startall(2, requests));
            CHECK_CALL(t, MPI_Waitall(2, requests, statuses));
        } else {
            CHECK_CALL(t, MPI_Start(&requests[0]));
            CHECK_CALL(t, MPI_Start(&requests[1]));
            CHECK_CALL(t, MPI_Wait(&requests[0], &statuses[0]));
            CHECK_CALL(t, MPI_Wait(&requests[1], &statuses[1]));
        }
        CHECK(t, requests[0] == kept[0] && requests[1] == kept[1]);
        CHECK_PATTERN(t, in, bytes, (uint64_t)(n.from * rounds + round));
        CHECK_INT(t, statuses[0].MPI_SOURCE, n.from);
        CHECK_INT(t, statuses[0].MPI_TAG, tag);
        CHECK_CALL(t, MPI_Get_count(&statuses[0], MPI_INT, &elements));
        CHECK_INT(t, elements, count);
    }
    CHECK_CALL(t, MPI_Request_free(&requests[0]));
    CHECK_CALL(t, MPI_Request_free(&requests[1]));
    CHECK(t, requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    free(in);
    free(out);
}

// A ready send: its receive is there before.
static void ready(struct check* t)
{
    const struct neighbors n = ring(t);
    int out = 0, in = -1;
    MPI_Request receive, sent;
    CHECK_CALL(t, MPI_Recv_init(&in, 1, MPI_INT, n.from, tag, MPI_COMM_WORLD, &receive));
    CHECK_CALL(t, MPI_Rsend_init(&out, 1, MPI_INT, n.to, tag, MPI_COMM_WORLD, &sent));
    for (int round = 0; round < rounds; ++round) {
        out = t->rank + 100 * round;
        CHECK_CALL(t, MPI_Start(&receive));
        CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
        CHECK_CALL(t, MPI_Start(&sent));
        CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
        CHECK_CALL(t, MPI_Wait(&receive, MPI_STATUS_IGNORE));
        CHECK_INT(t, in, n.from + 100 * round);
    }
    CHECK_CALL(t, MPI_Request_free(&sent));
    CHECK_CALL(t, MPI_Request_free(&receive));
}

// Messages that are there when their receive starts, and others, of changing tags and lengths: each
// run has a status of its own, and an inactive request an empty one.
static void there_before_start(struct check* t)
{
    const struct neighbors n = ring(t);
    const int out[4] = {t->rank, t->rank + 1, t->rank + 2, t->rank + 3};
    int in[4], elements, flag;
    MPI_Request receive;
    MPI_Status status;
    MPI_Comm comm;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_CALL(t, MPI_Recv_init(in, 4, MPI_INT, n.from, MPI_ANY_TAG, comm, &receive));
    for (int round = 0; round < rounds; ++round) {
        const int count = round % 4 + 1;
        MPI_Request sent;
        memset(in, -1, sizeof in);
        if (round % 3 == 0) {
            CHECK_CALL(t, MPI_Start(&receive));
            CHECK_CALL(t, MPI_Isend(out, count, MPI_INT, n.to, round, comm, &sent));
        } else {
            CHECK_CALL(t, MPI_Isend(out, count, MPI_INT, n.to, round, comm, &sent));
            CHECK_CALL(t, MPI_Barrier(comm));
            CHECK_CALL(t, MPI_Start(&receive));
        }
        CHECK_CALL(t, MPI_Wait(&receive, &status));
        CHECK_INT(t, status.MPI_SOURCE, n.from);
        CHECK_INT(t, status.MPI_TAG, round);
        CHECK_CALL(t, MPI_Get_count(&status, MPI_INT, &elements));
        CHECK_INT(t, elements, count);
        CHECK(t, in[count - 1] == n.from + count - 1 && (count == 4 || in[count] == -1));
        CHECK_CALL(t, MPI_Test(&receive, &flag, &status));
        CHECK(t, flag && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
        CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    }
    // One that is over already is cancelled in vain, and freed while it is active.
    CHECK_CALL(t, MPI_Send(out, 2, MPI_INT, n.to, tag, comm));
    CHECK_CALL(t, MPI_Barrier(comm));
    CHECK_CALL(t, MPI_Start(&receive));
    do
        CHECK_CALL(t, MPI_Request_get_status(receive, &flag, &status));
    while (!flag);
    CHECK_CALL(t, MPI_Cancel(&receive));
    CHECK_CALL(t, MPI_Request_get_status(receive, &flag, &status));
    CHECK(t, flag && status.MPI_TAG == tag);
    CHECK_CALL(t, MPI_Test_cancelled(&status, &flag));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Request_free(&receive));
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

// The datatype and the communicator are freed before the first start.
static void strided(struct check* t)
{
    enum { blocks = 300 };
    const struct neighbors n = ring(t);
    int out[2 * blocks], in[2 * blocks];
    MPI_Request requests[2];
    MPI_Datatype every_other;
    MPI_Comm comm;
    CHECK_CALL(t, MPI_Type_vector(blocks, 1, 2, MPI_INT, &every_other));
    CHECK_CALL(t, MPI_Type_commit(&every_other));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_CALL(
        t, MPI_Recv_init_c(in, 1, every_other, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]));
    CHECK_CALL(t, MPI_Ssend_init_c(out, 1, every_other, n.to, tag, comm, &requests[1]));
    CHECK_CALL(t, MPI_Type_free(&every_other));
    CHECK_CALL(t, MPI_Comm_free(&comm));
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < 2 * blocks; ++i) {
            out[i] = t->rank + i * round;
            in[i] = -1;
        }
        CHECK_CALL(t, MPI_Startall(2, requests));
        CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        int wrong = 0;
        for (int i = 0; i < 2 * blocks; ++i)
            wrong += in[i] != (i % 2 == 0 ? n.from + i * round : -1);
        CHECK_INT(t, wrong, 0);
    }
    CHECK_CALL(t, MPI_Request_free(&requests[0]));
    CHECK_CALL(t, MPI_Request_free(&requests[1]));
}

static void check_empty(struct check* t, const MPI_Status* status)
{
    int count = -1, flag = -1;
    CHECK_INT(t, status->MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_INT(t, status->MPI_TAG, MPI_ANY_TAG);
    CHECK_CALL(t, MPI_Get_count(status, MPI_INT, &count));
    CHECK_INT(t, count, 0);
    CHECK_CALL(t, MPI_Test_cancelled(status, &flag));
    CHECK_INT(t, flag, 0);
}

static void inactive(struct check* t, MPI_Request request)
{
    MPI_Request list[2] = {request, MPI_REQUEST_NULL};
    MPI_Status status, statuses[2];
    int flag = 0, index = 0, count = 0, indices[2];
    CHECK_CALL(t, MPI_Wait(&list[0], &status));
    check_empty(t, &status);
    CHECK_CALL(t, MPI_Test(&list[0], &flag, &status));
    CHECK_INT(t, flag, 1);
    check_empty(t, &status);
    CHECK_CALL(t, MPI_Waitall(2, list, statuses));
    check_empty(t, &statuses[0]);
    flag = 0;
    CHECK_CALL(t, MPI_Testall(2, list, &flag, statuses));
    CHECK_INT(t, flag, 1);
    check_empty(t, &statuses[0]);
    CHECK_CALL(t, MPI_Waitany(2, list, &index, &status));
    CHECK_INT(t, index, MPI_UNDEFINED);
    check_empty(t, &status);
    flag = index = 0;
    CHECK_CALL(t, MPI_Testany(2, list, &index, &flag, &status));
    CHECK_INT(t, flag, 1);
    CHECK_INT(t, index, MPI_UNDEFINED);
    CHECK_CALL(t, MPI_Waitsome(2, list, &count, indices, statuses));
    CHECK_INT(t, count, MPI_UNDEFINED);
    count = 0;
    CHECK_CALL(t, MPI_Testsome(2, list, &count, indices, statuses));
    CHECK_INT(t, count, MPI_UNDEFINED);
    flag = 0;
    CHECK_CALL(t, MPI_Request_get_status(list[0], &flag, &status));
    CHECK_INT(t, flag, 1);
    check_empty(t, &status);
    CHECK(t, list[0] == request);
}

// One of two requests is active: the calls for several ones see that one only.
static void mixed(struct check* t)
{
    int out = 7, in = 0, index = -1, count = -1, indices[2];
    MPI_Request requests[2], plain;
    MPI_Status status, statuses[2];
    CHECK_CALL(t, MPI_Send_init(&out, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPI_Recv_init(&in, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD, &requests[1]));
    inactive(t, requests[0]);
    inactive(t, requests[1]);
    CHECK_CALL(t, MPI_Startall(2, requests));
    CHECK_CALL(t, MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Waitany(2, requests, &index, &status));
    CHECK_INT(t, index, 1);
    CHECK_INT(t, status.MPI_SOURCE, t->rank);
    CHECK_INT(t, in, 7);
    inactive(t, requests[1]);
    out = 8;
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD, &plain));
    CHECK_CALL(t, MPI_Start(&requests[0]));
    CHECK_CALL(t, MPI_Waitsome(2, requests, &count, indices, statuses));
    CHECK_INT(t, count, 1);
    CHECK_INT(t, indices[0], 0);
    CHECK_CALL(t, MPI_Wait(&plain, MPI_STATUS_IGNORE));
    CHECK_INT(t, in, 8);
    out = 9;
    CHECK_CALL(t, MPI_Start(&requests[1]));
    CHECK_CALL(t, MPI_Start(&requests[0]));
    CHECK_CALL(t, MPI_Waitall(2, requests, statuses));
    CHECK_INT(t, in, 9);
    CHECK_INT(t, statuses[1].MPI_TAG, tag);
    CHECK_CALL(t, MPI_Request_free(&requests[0]));
    CHECK_CALL(t, MPI_Request_free(&requests[1]));
}

static void nobody(struct check* t)
{
    int value = 3;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    CHECK_CALL(t,
               MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t,
               MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &requests[1]));
    for (int round = 0; round < 3; ++round) {
        CHECK_CALL(t, MPI_Startall(2, requests));
        CHECK_CALL(t, MPI_Waitall(2, requests, statuses));
        if (!t->lenient)
            CHECK_INT(t, statuses[1].MPI_SOURCE, MPI_PROC_NULL);
        CHECK_INT(t, statuses[1].MPI_TAG, MPI_ANY_TAG);
        CHECK_INT(t, value, 3);
    }
    CHECK_CALL(t, MPI_Request_free(&requests[0]));
    CHECK_CALL(t, MPI_Request_free(&requests[1]));
}

// Freed while active, it goes on; cancelled, it can be started again.
static void freed_and_cancelled(struct check* t)
{
    int out = 11, in = 0, flag = -1;
    MPI_Request sent, receive;
    MPI_Status status;
    CHECK_CALL(t, MPI_Send_init(&out, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD, &sent));
    CHECK_CALL(t, MPI_Recv_init(&in, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD, &receive));
    CHECK_CALL(t, MPI_Start(&receive));
    CHECK_CALL(t, MPI_Cancel(&receive));
    CHECK_CALL(t, MPI_Wait(&receive, &status));
    CHECK_CALL(t, MPI_Test_cancelled(&status, &flag));
    CHECK_INT(t, flag, 1);
    CHECK_CALL(t, MPI_Start(&receive));
    CHECK_CALL(t, MPI_Start(&sent));
    CHECK_CALL(t, MPI_Request_free(&sent));
    CHECK(t, sent == MPI_REQUEST_NULL);
    CHECK_CALL(t, MPI_Wait(&receive, &status));
    CHECK_CALL(t, MPI_Test_cancelled(&status, &flag));
    CHECK_INT(t, flag, 0);
    CHECK_INT(t, in, 11);
    CHECK_CALL(t, MPI_Start(&receive));
    CHECK_CALL(t, MPI_Request_free(&receive));
    out = 12;
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD));
    // It took the message, so none is left for another receive.
    CHECK_CALL(t, MPI_Iprobe(t->rank, tag, MPI_COMM_WORLD, &flag, &status));
    CHECK_INT(t, flag, 0);
    CHECK_INT(t, in, 12);
}

// The second one is active by then, whether it is started before all others or in its turn.
static void named_twice(struct check* t, MPI_Request receive)
{
    int value = 0;
    MPI_Request sent, starts[2] = {receive, receive};
    REFUSED(t, MPI_Startall(2, starts), MPI_ERR_REQUEST);
    CHECK_CALL(t, MPI_Cancel(&receive));
    CHECK_CALL(t, MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Send_init(&value, 1, MPI_INT, t->rank, 77, MPI_COMM_WORLD, &sent));
    starts[0] = starts[1] = sent;
    REFUSED(t, MPI_Startall(2, starts), MPI_ERR_REQUEST);
    CHECK_CALL(t, MPI_Recv(&value, 1, MPI_INT, t->rank, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Request_free(&sent));
}

static void refused(struct check* t)
{
    int value = 0;
    MPI_Request none = MPI_REQUEST_NULL, receive, plain;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    REFUSED(t, MPI_Start(&none), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Send_init(&value, -1, MPI_INT, 0, tag, MPI_COMM_WORLD, &none), MPI_ERR_COUNT);
    REFUSED(t, MPI_Send_init(&value, 1, MPI_INT, t->size, tag, MPI_COMM_WORLD, &none),
            MPI_ERR_RANK);
    REFUSED(t, MPI_Recv_init(&value, 1, MPI_INT, 0, -7, MPI_COMM_WORLD, &none), MPI_ERR_TAG);
    CHECK_CALL(t, MPI_Recv_init(&value, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD, &receive));
    CHECK_CALL(t, MPI_Irecv(&value, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD, &plain));
    if (!t->lenient) {
        REFUSED(t, MPI_Start(&plain), MPI_ERR_REQUEST);
        REFUSED(t, MPI_Cancel(&receive), MPI_ERR_REQUEST);
        CHECK_CALL(t, MPI_Start(&receive));
        REFUSED(t, MPI_Start(&receive), MPI_ERR_REQUEST);
        CHECK_CALL(t, MPI_Cancel(&receive));
        CHECK_CALL(t, MPI_Wait(&receive, MPI_STATUS_IGNORE));
        named_twice(t, receive);
    }
    CHECK_CALL(t, MPI_Cancel(&plain));
    CHECK_CALL(t, MPI_Wait(&plain, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Request_free(&receive));
}

static void without_buffer(struct check* t)
{
    int value = 0;
    MPI_Request sent;
    CHECK_CALL(t, MPI_Bsend_init(&value, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD, &sent));
    REFUSED(t, MPI_Start(&sent), MPI_ERR_BUFFER);
    CHECK_CALL(t, MPI_Request_free(&sent));
}

static int test_main(void)
{
    struct check t = check_start("persistent");
    round_trips(&t, MPI_Send_init, 1);
    round_trips(&t, MPI_Send_init, 0);
    round_trips(&t, MPI_Send_init, 3000);
    round_trips(&t, MPI_Send_init, long_ints);
    round_trips(&t, MPI_Ssend_init, 1);
    round_trips(&t, MPI_Ssend_init, long_ints);
    void* memory = check_memory(buffer_bytes);
    CHECK_CALL(&t, check_attach(memory, buffer_bytes));
    round_trips(&t, MPI_Bsend_init, 1);
    round_trips(&t, MPI_Bsend_init, 3000);
    int size = 0;
    CHECK_CALL(&t, check_detach(&memory, &size));
    free(memory);
    ready(&t);
    there_before_start(&t);
    strided(&t);
    mixed(&t);
    nobody(&t);
    freed_and_cancelled(&t);
    refused(&t);
    without_buffer(&t);
    return check_finish(&t);
}
