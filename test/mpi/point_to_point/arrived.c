// SPDX-License-Identifier: Apache-2.0
// Short messages that are there before somebody asks for them, which a library may take without
// further ado: the one that is due is taken and no other, by receives of every kind; what is wrong
// with a call is said as ever (MPI 5.0, 3.2.4, 3.5, 3.8). To the rank itself, where all is in order
// before the receive; to the next rank, where some is.
#define CHECK_OWN_INIT
#include "../check.h"

enum { tag_a = 3, tag_b = 4, tag_go = 5, window = 70, rounds = 400, guard = -7 };

struct ends {
    int to;
    int from;
    MPI_Comm comm;
    int is_itself;  // no other rank's messages come here
};

static void send_number(struct check* t, const struct ends* e, int tag, int number)
{
    CHECK_CALL(t, MPI_Send(&number, 1, MPI_INT, e->to, tag, e->comm));
}

static void check_status(struct check* t, const MPI_Status* status, int source, int tag, int ints)
{
    int count = -1;
    int is_cancelled = -1;
    CHECK_INT(t, status->MPI_SOURCE, source);
    CHECK_INT(t, status->MPI_TAG, tag);
    CHECK_CALL(t, MPI_Get_count(status, MPI_INT, &count));
    CHECK_INT(t, count, ints);
    CHECK_CALL(t, MPI_Test_cancelled(status, &is_cancelled));
    CHECK_INT(t, is_cancelled, 0);
}

static void receive_number(struct check* t, const struct ends* e, int source, int tag, int number,
                           int real_tag)
{
    MPI_Status status;
    int got[2] = {guard, guard};
    CHECK_CALL(t, MPI_Recv(got, 2, MPI_INT, source, tag, e->comm, &status));
    CHECK_INT(t, got[0], number);
    CHECK_INT(t, got[1], guard);
    check_status(t, &status, e->from, real_tag, 1);
}

// By exact name, by any tag, from any source, out of order, after a probe.
static void by_every_name(struct check* t, const struct ends* e)
{
    MPI_Status status;
    int flag = 0;
    for (int number = 0; number < 8; ++number)
        send_number(t, e, number % 2 == 0 ? tag_a : tag_b, number);
    receive_number(t, e, e->from, tag_a, 0, tag_a);
    receive_number(t, e, e->from, MPI_ANY_TAG, 1, tag_b);
    receive_number(t, e, MPI_ANY_SOURCE, tag_a, 2, tag_a);
    receive_number(t, e, e->from, tag_a, 4, tag_a);
    receive_number(t, e, e->from, tag_b, 3, tag_b);
    CHECK_CALL(t, MPI_Probe(e->from, tag_a, e->comm, &status));
    check_status(t, &status, e->from, tag_a, 1);
    receive_number(t, e, e->from, MPI_ANY_TAG, 5, tag_b);
    while (flag == 0)
        CHECK_CALL(t, MPI_Iprobe(e->from, tag_b, e->comm, &flag, &status));
    check_status(t, &status, e->from, tag_b, 1);
    receive_number(t, e, MPI_ANY_SOURCE, MPI_ANY_TAG, 6, tag_a);
    receive_number(t, e, e->from, tag_b, 7, tag_b);
}

// A receive that was posted before comes first, whatever its name; a cancelled one does not.
static void behind_posted(struct check* t, const struct ends* e, int source, int tag)
{
    MPI_Request request;
    MPI_Status status;
    int got = guard;
    CHECK_CALL(t, MPI_Irecv(&got, 1, MPI_INT, source, tag, e->comm, &request));
    send_number(t, e, tag_a, 1);
    send_number(t, e, tag_a, 2);
    receive_number(t, e, e->from, tag_a, 2, tag_a);
    CHECK_CALL(t, MPI_Wait(&request, &status));
    CHECK_INT(t, got, 1);
    check_status(t, &status, e->from, tag_a, 1);

    if (!e->is_itself)
        return;
    int is_cancelled = 0;
    CHECK_CALL(t, MPI_Irecv(&got, 1, MPI_INT, source, tag, e->comm, &request));
    CHECK_CALL(t, MPI_Cancel(&request));
    CHECK_CALL(t, MPI_Wait(&request, &status));
    CHECK_CALL(t, MPI_Test_cancelled(&status, &is_cancelled));
    CHECK_INT(t, is_cancelled, 1);
    send_number(t, e, tag_a, 3);
    receive_number(t, e, e->from, tag_a, 3, tag_a);
}

// More messages in flight than a lane has room for; requests of all of them at once.
static void windows(struct check* t, const struct ends* e)
{
    int numbers[window];
    int got[window];
    MPI_Request requests[2 * window];
    MPI_Status statuses[2 * window];
    for (int round = 0; round < 10; ++round) {
        const int receives_first = round % 3 == 0;
        for (int i = 0; i < window; ++i) {
            numbers[i] = 100 * round + i;
            got[i] = guard;
        }
        for (int half = 0; half < 2; ++half) {
            for (int i = 0; i < window; ++i) {
                const int tag = i % 2 == 0 ? tag_a : tag_b;
                if (half == receives_first) {
                    CHECK_CALL(
                        t, MPI_Isend(&numbers[i], 1, MPI_INT, e->to, tag, e->comm, &requests[i]));
                } else {
                    CHECK_CALL(t, MPI_Irecv(&got[i], 1, MPI_INT, e->from,
                                            round % 2 == 0 ? tag : MPI_ANY_TAG, e->comm,
                                            &requests[window + i]));
                }
            }
        }
        CHECK_CALL(t, MPI_Waitall(2 * window, requests, statuses));
        for (int i = 0; i < window; ++i) {
            CHECK_INT(t, got[i], numbers[i]);
            check_status(t, &statuses[window + i], e->from, i % 2 == 0 ? tag_a : tag_b, 1);
        }
        for (int i = 0; i < 2 * window; ++i)
            CHECK(t, requests[i] == MPI_REQUEST_NULL);
    }
}

// Requests of messages that were there: freed, tested, waited for in any order.
static void requests_of_arrived(struct check* t, const struct ends* e)
{
    MPI_Request requests[3];
    MPI_Status status;
    int got[3] = {guard, guard, guard};
    int flag = 0;
    int index = -1;
    for (int number = 0; number < 3; ++number)
        send_number(t, e, tag_a, number);
    for (int i = 0; i < 3; ++i)
        CHECK_CALL(t, MPI_Irecv(&got[i], 1, MPI_INT, e->from, tag_a, e->comm, &requests[i]));
    while (flag == 0)
        CHECK_CALL(t, MPI_Request_get_status(requests[1], &flag, &status));
    check_status(t, &status, e->from, tag_a, 1);
    CHECK_CALL(t, MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Cancel(&requests[0]));  // too late: it has matched
    CHECK_CALL(t, MPI_Waitany(3, requests, &index, &status));
    CHECK(t, index == 0 || index == 2);
    check_status(t, &status, e->from, tag_a, 1);
    if (e->is_itself) {
        CHECK_CALL(t, MPI_Request_free(&requests[2 - index]));
    } else {  // it may still be open
        CHECK_CALL(t, MPI_Wait(&requests[2 - index], MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < 3; ++i)
        CHECK_INT(t, got[i], i);
}

static void empty_and_null(struct check* t, const struct ends* e)
{
    MPI_Status status;
    int got = guard;
    CHECK_CALL(t, MPI_Send(NULL, 0, MPI_INT, e->to, tag_a, e->comm));
    CHECK_CALL(t, MPI_Send(&got, 0, MPI_INT, e->to, tag_a, e->comm));
    CHECK_CALL(t, MPI_Recv(&got, 1, MPI_INT, e->from, tag_a, e->comm, &status));
    check_status(t, &status, e->from, tag_a, 0);
    CHECK_CALL(t, MPI_Recv(NULL, 0, MPI_INT, e->from, tag_a, e->comm, &status));
    check_status(t, &status, e->from, tag_a, 0);
    CHECK_INT(t, got, guard);
    CHECK_CALL(t, MPI_Send(&got, 1, MPI_INT, MPI_PROC_NULL, tag_a, e->comm));
    CHECK_CALL(t, MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, tag_a, e->comm, &status));
    CHECK_INT(t, status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_INT(t, status.MPI_TAG, MPI_ANY_TAG);
    CHECK_INT(t, got, guard);
}

static int class_of(int code)
{
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

// Each wrong call is refused as ever, and leaves the message where it is.
static void wrong_calls(struct check* t, const struct ends* e)
{
    int got[2] = {guard, guard};
    const int pair[2] = {1, 2};
    int size = 0;
    MPI_Status status;
    MPI_Datatype loose;
    MPI_Request request;
    CHECK_CALL(t, MPI_Comm_set_errhandler(e->comm, MPI_ERRORS_RETURN));
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_CALL(t, MPI_Comm_size(e->comm, &size));
    CHECK_CALL(t, MPI_Type_contiguous(1, MPI_INT, &loose));
    CHECK_CALL(t, MPI_Send(pair, 2, MPI_INT, e->to, tag_a, e->comm));
#define WRONG(error, call) CHECK_INT(t, class_of(call), error)
    WRONG(MPI_ERR_RANK, MPI_Recv(got, 2, MPI_INT, size, tag_a, e->comm, &status));
    WRONG(MPI_ERR_RANK, MPI_Send(got, 1, MPI_INT, size, tag_a, e->comm));
    WRONG(MPI_ERR_RANK, MPI_Isend(got, 1, MPI_INT, MPI_ANY_SOURCE, tag_a, e->comm, &request));
    WRONG(MPI_ERR_TAG, MPI_Recv(got, 2, MPI_INT, e->from, -7, e->comm, &status));
    WRONG(MPI_ERR_TAG, MPI_Send(got, 1, MPI_INT, e->to, MPI_ANY_TAG, e->comm));
    WRONG(MPI_ERR_COUNT, MPI_Recv(got, -1, MPI_INT, e->from, tag_a, e->comm, &status));
    WRONG(MPI_ERR_COUNT, MPI_Irecv(got, -1, MPI_INT, e->from, tag_a, e->comm, &request));
    WRONG(MPI_ERR_TYPE, MPI_Recv(got, 2, loose, e->from, tag_a, e->comm, &status));
    WRONG(MPI_ERR_TYPE, MPI_Recv(got, 2, MPI_DATATYPE_NULL, e->from, tag_a, e->comm, &status));
    WRONG(MPI_ERR_BUFFER, MPI_Recv(NULL, 2, MPI_INT, e->from, tag_a, e->comm, &status));
    WRONG(MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_INT, e->to, tag_a, e->comm));
    WRONG(MPI_ERR_ARG, MPI_Irecv(got, 2, MPI_INT, e->from, tag_a, e->comm, NULL));
    WRONG(MPI_ERR_COMM, MPI_Recv(got, 2, MPI_INT, e->from, tag_a, MPI_COMM_NULL, &status));
    CHECK_INT(t, got[0], guard);
    WRONG(MPI_ERR_TRUNCATE, MPI_Recv(got, 1, MPI_INT, e->from, tag_a, e->comm, &status));
    CHECK_INT(t, got[0], 1);
    CHECK_INT(t, got[1], guard);
    CHECK_CALL(t, MPI_Send(pair, 2, MPI_INT, e->to, tag_a, e->comm));
    CHECK_CALL(t, MPI_Irecv(got, 1, MPI_INT, e->from, tag_a, e->comm, &request));
    WRONG(MPI_ERR_TRUNCATE, MPI_Wait(&request, &status));
#undef WRONG
    CHECK_CALL(t, MPI_Type_free(&loose));
    send_number(t, e, tag_b, 5);
    receive_number(t, e, e->from, MPI_ANY_TAG, 5, tag_b);
}

// Types whose elements have gaps, or that the program made, and sizes around every limit.
static void types(struct check* t, const struct ends* e)
{
    struct {
        double value;
        int index;
    } out = {1.5, 3}, in = {0, 0};
    unsigned char bytes[5000];
    unsigned char got[5000];
    MPI_Datatype block;
    MPI_Status status;
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_DOUBLE_INT, e->to, tag_a, e->comm));
    CHECK_CALL(t, MPI_Recv(&in, 1, MPI_DOUBLE_INT, e->from, tag_a, e->comm, &status));
    CHECK(t, in.value == 1.5 && in.index == 3);
    CHECK_CALL(t, MPI_Type_contiguous(5000, MPI_BYTE, &block));
    CHECK_CALL(t, MPI_Type_commit(&block));
    for (int size = 1; size < 5000; size = size < 50 ? size + 1 : size * 3) {
        check_fill(bytes, (size_t)size, (uint64_t)size);
        CHECK_CALL(t, MPI_Send(bytes, size, MPI_BYTE, e->to, tag_a, e->comm));
        CHECK_CALL(t, MPI_Recv(got, 1, block, e->from, tag_a, e->comm, &status));
        CHECK_PATTERN(t, got, (size_t)size, (uint64_t)size);
    }
    CHECK_CALL(t, MPI_Type_free(&block));
}

// Numbered messages around the ring of ranks, on two communicators in turn, of two tags; the
// receiver is sometimes ahead and sometimes behind.
static void in_turn(struct check* t, const struct ends* e, MPI_Comm other)
{
    struct ends second = *e;
    second.comm = other;
    uint64_t random = 17 + (uint64_t)t->rank;
    volatile int work = 0;
    for (int round = 0; round < rounds; ++round) {
        const int burst = 1 + round % 5;
        for (int i = 0; i < burst; ++i)
            send_number(t, i % 2 == 0 ? e : &second, i % 2 == 0 ? tag_a : tag_b, 10 * round + i);
        for (int left = check_below(&random, 2000); left > 0; --left)
            ++work;
        for (int i = 1; i < burst; i += 2)
            receive_number(t, &second, e->from, tag_b, 10 * round + i, tag_b);
        for (int i = 0; i < burst; i += 2)
            receive_number(t, e, e->from, tag_a, 10 * round + i, tag_a);
    }
}

static int test_main(void)
{
    int provided = MPI_THREAD_SINGLE;
    if (check_setting("CHECK_THREADS", 0) != 0) {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    } else {
        MPI_Init(NULL, NULL);
    }
    struct check t = check_start("arrived");
    MPI_Comm comm;
    MPI_Comm other;
    CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &other));
    const struct ends all[] = {
        {0, 0, MPI_COMM_SELF, 1},
        {t.rank, t.rank, comm, 1},
        {(t.rank + 1) % t.size, (t.rank + t.size - 1) % t.size, comm, 0},
    };
    for (int i = 0; i < 3; ++i) {
        const struct ends* const e = &all[i];
        by_every_name(&t, e);
        behind_posted(&t, e, e->from, tag_a);
        behind_posted(&t, e, e->from, MPI_ANY_TAG);
        behind_posted(&t, e, MPI_ANY_SOURCE, tag_a);
        behind_posted(&t, e, MPI_ANY_SOURCE, MPI_ANY_TAG);
        windows(&t, e);
        requests_of_arrived(&t, e);
        empty_and_null(&t, e);
        types(&t, e);
        in_turn(&t, e, i == 0 ? MPI_COMM_SELF : other);
        CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    }
    wrong_calls(&t, &all[1]);
    wrong_calls(&t, &all[2]);
    CHECK_CALL(&t, MPI_Comm_free(&comm));
    CHECK_CALL(&t, MPI_Comm_free(&other));
    const int failures = check_finish(&t);
    MPI_Finalize();
    return failures;
}
