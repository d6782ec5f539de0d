// SPDX-License-Identifier: Apache-2.0
// Sync objects with one thread a rank: events, their order and statuses, waiting, detaching,
// cancelling, persistent, generalized and collective requests, and what is refused.
#include <mpi-ext.h>

#include "../check.h"

enum { long_bytes = 1 << 20, many = 1000, at_once = 100 };

static void* cookie_of(long number)
{
    return (void*)(intptr_t)number;
}

static long number_of(void* cookie)
{
    return (long)(intptr_t)cookie;
}

// The next event, whatever it takes.
static void* await_event(MPIX_Sync sync, MPI_Status* status)
{
    void* cookie = MPIX_SYNC_EMPTY;
    while (cookie == MPIX_SYNC_EMPTY)
        cookie = MPIX_Sync_query(sync, status);
    return cookie;
}

static void check_empty(struct check* t, MPIX_Sync sync)
{
    CHECK_INT(t, MPIX_Sync_size(sync), 0);
    CHECK_INT(t, MPIX_Sync_probe(sync), 0);
    CHECK(t, MPIX_Sync_query(sync, MPI_STATUS_IGNORE) == MPIX_SYNC_EMPTY);
}

// A message each way around the ring, of all lengths that travel differently.
static void ring(struct check* t, MPIX_Sync sync, int size_bytes)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    char* const out = check_memory((size_t)size_bytes);
    char* const in = check_memory((size_t)size_bytes);
    MPI_Request requests[2];
    MPI_Status status;
    int seen = 0;
    check_fill(out, (size_t)size_bytes, (uint64_t)t->rank);
    CHECK_CALL(t, MPI_Irecv(in, size_bytes, MPI_BYTE, from, 3, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPI_Isend(out, size_bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD, &requests[1]));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &requests[0], cookie_of(1)));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &requests[1], cookie_of(2)));
    while (seen != 3) {
        const long cookie = number_of(await_event(sync, &status));
        CHECK((t), cookie == 1 || cookie == 2);
        CHECK_INT(t, seen & (int)cookie, 0);
        CHECK_INT(t, status.MPI_ERROR, MPI_SUCCESS);
        if (cookie == 1) {
            int count = -1;
            CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK_INT(t, count, size_bytes);
            CHECK_INT(t, status.MPI_SOURCE, from);
            CHECK_INT(t, status.MPI_TAG, 3);
            CHECK_PATTERN(t, in, (size_t)size_bytes, (uint64_t)from);
        }
        seen |= (int)cookie;
    }
    check_empty(t, sync);
    free(out);
    free(in);
}

// As many as a window of a task runtime; cookies are numbers from 0.
static void many_at_once(struct check* t, MPIX_Sync sync)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    int* const numbers = check_memory(2 * many * sizeof *numbers);
    char* const seen = memset(check_memory(2 * many), 0, 2 * many);
    void* cookies[at_once];
    MPI_Status statuses[at_once];
    int left = 2 * many;
    for (int i = 0; i < many; ++i) {
        MPI_Request request;
        CHECK_CALL(t, MPI_Irecv(&numbers[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &request));
        CHECK_CALL(t, MPIX_Sync_attach(sync, &request, cookie_of(i)));
    }
    // Others send already: what ends between two of these looks is seen by both, or by neither.
    const int open_before = MPIX_Sync_size(sync), events = MPIX_Sync_probe(sync);
    const int open_after = MPIX_Sync_size(sync);
    CHECK(t, open_before + events >= many);
    CHECK(t, open_after + events <= many);
    for (int i = many - 1; i >= 0; --i) {
        MPI_Request request;
        numbers[many + i] = 7 * i;
        CHECK_CALL(t, MPI_Isend(&numbers[many + i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &request));
        CHECK_CALL(t, MPIX_Sync_attach(sync, &request, cookie_of(many + i)));
    }
    while (left > 0) {
        int count = -1;
        CHECK_CALL(t, MPIX_Sync_query_bulk(at_once, sync, &count, cookies, statuses));
        for (int i = 0; i < count; ++i) {
            const long number = number_of(cookies[i]);
            if (!CHECK(t, number >= 0 && number < 2 * many))
                continue;
            CHECK_INT(t, seen[number], 0);
            seen[number] = 1;
            if (number < many) {
                CHECK_INT(t, numbers[number], 7 * number);
                CHECK_INT(t, statuses[i].MPI_TAG, number);
            }
        }
        left -= count;
    }
    check_empty(t, sync);
    free(numbers);
    free(seen);
}

// Events come in the order in which requests were complete; those that are complete already have
// theirs at once; MPIX_Sync_waitall takes none away.
static void order(struct check* t, MPIX_Sync sync)
{
    int in[3] = {-1, -1, -1};
    const int out = 5;
    MPI_Request requests[3];
    MPI_Status status;
    for (int i = 0; i < 3; ++i) {
        CHECK_CALL(t, MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]));
        CHECK_CALL(t, MPIX_Sync_attach(sync, &requests[i], cookie_of(i)));
    }
    CHECK(t, MPIX_Sync_query(sync, MPI_STATUS_IGNORE) == MPIX_SYNC_EMPTY);
    CHECK_INT(t, MPIX_Sync_size(sync), 3);
    for (int i = 2; i >= 1; --i) {
        CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, 0, i, MPI_COMM_SELF));
        while (MPIX_Sync_size(sync) >= i + 1)
            MPIX_Progress();
        CHECK_INT(t, MPIX_Sync_probe(sync), 3 - i);
    }
    CHECK_INT(t, number_of(MPIX_Sync_query(sync, &status)), 2);
    CHECK_INT(t, status.MPI_TAG, 2);
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    CHECK_CALL(t, MPIX_Sync_waitall(sync));
    CHECK_CALL(t, MPIX_Sync_waitall(sync));
    CHECK_INT(t, in[0], 5);
    CHECK_INT(t, MPIX_Sync_size(sync), 0);
    CHECK_INT(t, MPIX_Sync_probe(sync), 2);
    CHECK_CALL(t, MPI_Isend(&out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[0]));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &requests[0], cookie_of(3)));
    CHECK_INT(t, MPIX_Sync_probe(sync), 3);
    CHECK_INT(t, number_of(MPIX_Sync_query(sync, MPI_STATUS_IGNORE)), 1);
    CHECK_INT(t, number_of(MPIX_Sync_query(sync, MPI_STATUS_IGNORE)), 0);
    CHECK_INT(t, number_of(MPIX_Sync_query(sync, MPI_STATUS_IGNORE)), 3);
    check_empty(t, sync);
}

// The others complete their part only when this rank sleeps perhaps.
static void wait_for_others(struct check* t, MPIX_Sync sync)
{
    char* const bytes = check_memory((size_t)long_bytes * 2);
    MPI_Request requests[4];
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    int out = 4, in = -1;
    check_fill(bytes, long_bytes, 11);
    CHECK_CALL(t, MPI_Isend(bytes, long_bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPI_Irecv(bytes + long_bytes, long_bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                            &requests[1]));
    CHECK_CALL(t, MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]));
    CHECK_CALL(t, MPI_Issend(&out, 1, MPI_INT, to, 2, MPI_COMM_WORLD, &requests[3]));
    for (int i = 0; i < 4; ++i)
        CHECK_CALL(t, MPIX_Sync_attach(sync, &requests[i],
                                       i == 2 ? cookie_of(9) : MPIX_SYNC_NO_COMPLETION_DATA));
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, from, 2, MPI_COMM_WORLD, &requests[0]));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &requests[0], MPIX_SYNC_NO_COMPLETION_DATA));
    CHECK_CALL(t, MPIX_Sync_waitall(sync));
    CHECK_PATTERN(t, bytes + long_bytes, long_bytes, 11);
    CHECK_INT(t, in, 4);
    CHECK_INT(t, MPIX_Sync_probe(sync), 1);
    CHECK_INT(t, number_of(MPIX_Sync_query(sync, MPI_STATUS_IGNORE)), 9);
    check_empty(t, sync);
    free(bytes);
}

// What a datatype with gaps received is in its place when the program can learn that it came.
static void gaps(struct check* t, MPIX_Sync sync)
{
    MPI_Datatype second;
    int in[6] = {-1, -1, -1, -1, -1, -1};
    const int out[3] = {1, 2, 3};
    MPI_Request request;
    CHECK_CALL(t, MPI_Type_vector(3, 1, 2, MPI_INT, &second));
    CHECK_CALL(t, MPI_Type_commit(&second));
    CHECK_CALL(t, MPI_Irecv(in, 1, second, 0, 0, MPI_COMM_SELF, &request));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &request, cookie_of(1)));
    CHECK_CALL(t, MPI_Type_free(&second));
    CHECK_CALL(t, MPI_Send(out, 3, MPI_INT, 0, 0, MPI_COMM_SELF));
    CHECK_CALL(t, MPIX_Sync_waitall(sync));
    CHECK(t, in[0] == 1 && in[1] == -1 && in[2] == 2 && in[3] == -1 && in[4] == 3);
    CHECK_INT(t, number_of(MPIX_Sync_query(sync, MPI_STATUS_IGNORE)), 1);
}

static void detach_and_cancel(struct check* t, MPIX_Sync sync)
{
    int in = -1, done = 0, cancelled = 0;
    const int out = 8;
    MPI_Request request;
    MPI_Status status;
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &request, cookie_of(1)));
    REFUSED(t, MPIX_Sync_attach(sync, &request, cookie_of(1)), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Request_free(&request), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Start(&request), MPI_ERR_REQUEST);
    CHECK_CALL(t, MPIX_Sync_detach(sync, &request));
    REFUSED(t, MPIX_Sync_detach(sync, &request), MPI_ERR_REQUEST);
    CHECK_INT(t, MPIX_Sync_size(sync), 0);
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    CHECK_CALL(t, MPI_Wait(&request, &status));
    CHECK_INT(t, in, 8);
    CHECK_INT(t, status.MPI_TAG, 1);

    // Too late to detach: the event is there.
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &request, cookie_of(2)));
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    CHECK_CALL(t, MPIX_Sync_waitall(sync));
    CHECK_INT(t, MPIX_Sync_detach(sync, &request), MPIX_SYNC_ALREADY_COMPLETE);
    CHECK_INT(t, number_of(MPIX_Sync_query(sync, MPI_STATUS_IGNORE)), 2);
    REFUSED(t, MPI_Cancel(&request), MPI_ERR_REQUEST);

    // A cancelled request has no event; one that could not be cancelled has.
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &request, cookie_of(3)));
    CHECK_CALL(t, MPI_Cancel(&request));
    CHECK_CALL(t, MPIX_Sync_waitall(sync));
    check_empty(t, sync);
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &request, cookie_of(4)));
    CHECK_CALL(t, MPI_Ssend(&out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF));
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    CHECK_CALL(t, MPIX_Sync_waitall(sync));
    CHECK_CALL(t, MPI_Cancel(&request));
    CHECK_INT(t, number_of(MPIX_Sync_query(sync, &status)), 4);
    CHECK_CALL(t, MPI_Test_cancelled(&status, &cancelled));
    CHECK_INT(t, cancelled, 0);
    check_empty(t, sync);
}

// One event a start, until the request is detached or freed.
static void persistent(struct check* t, MPIX_Sync sync)
{
    int in = -1, out = 0, done = 0;
    MPI_Request receive, send;
    CHECK_CALL(t, MPI_Recv_init(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &receive));
    CHECK_CALL(t, MPI_Send_init(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &send));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &receive, cookie_of(1)));
    CHECK_CALL(t, MPI_Start(&send));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &send, MPIX_SYNC_NO_COMPLETION_DATA));
    REFUSED(t, MPIX_Sync_attach(sync, &receive, cookie_of(1)), MPI_ERR_REQUEST);
    CHECK_CALL(t, MPI_Start(&receive));
    CHECK_INT(t, number_of(await_event(sync, MPI_STATUS_IGNORE)), 1);
    for (int i = 1; i < 5; ++i) {
        out = i;
        CHECK_CALL(t, MPI_Start(&send));
        CHECK_CALL(t, MPI_Start(&receive));
        CHECK_CALL(t, MPIX_Sync_waitall(sync));
        REFUSED(t, MPI_Start(&receive), MPI_ERR_REQUEST);
        CHECK_INT(t, MPIX_Sync_probe(sync), 1);
        CHECK_INT(t, number_of(MPIX_Sync_query(sync, MPI_STATUS_IGNORE)), 1);
        CHECK_INT(t, in, i);
    }
    // Cancelled: no event, and it starts again.
    CHECK_CALL(t, MPI_Start(&receive));
    CHECK_CALL(t, MPI_Cancel(&receive));
    CHECK_CALL(t, MPIX_Sync_waitall(sync));
    check_empty(t, sync);
    CHECK_CALL(t, MPI_Start(&receive));
    CHECK_CALL(t, MPI_Start(&send));
    CHECK_CALL(t, MPIX_Sync_waitall(sync));
    // The binding ends with the event that is there.
    CHECK_INT(t, MPIX_Sync_detach(sync, &receive), MPIX_SYNC_ALREADY_COMPLETE);
    CHECK_INT(t, number_of(MPIX_Sync_query(sync, MPI_STATUS_IGNORE)), 1);
    CHECK_CALL(t, MPI_Start(&receive));
    CHECK_CALL(t, MPI_Test(&receive, &done, MPI_STATUS_IGNORE));
    CHECK_INT(t, done, 0);
    CHECK_CALL(t, MPIX_Sync_attach(sync, &receive, cookie_of(2)));
    CHECK_CALL(t, MPIX_Sync_detach(sync, &receive));
    CHECK_CALL(t, MPI_Start(&send));
    CHECK_CALL(t, MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &receive, cookie_of(2)));
    CHECK_CALL(t, MPIX_Sync_detach(sync, &receive));
    REFUSED(t, MPIX_Sync_detach(sync, &receive), MPI_ERR_REQUEST);
    CHECK_CALL(t, MPI_Request_free(&receive));
    CHECK_CALL(t, MPIX_Sync_waitall(sync));
    CHECK_CALL(t, MPI_Request_free(&send));
    check_empty(t, sync);
}

static int describe(void* extra, MPI_Status* status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_BYTE, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 1;
    status->MPI_TAG = 2;
    return MPI_SUCCESS;
}

static int let_go(void* extra)
{
    ++*(int*)extra;
    return MPI_SUCCESS;
}

static int ignore_cancel(void* extra, int is_complete)
{
    (void)extra, (void)is_complete;
    return MPI_SUCCESS;
}

static void generalized(struct check* t, MPIX_Sync sync)
{
    MPI_Request request;
    MPI_Status status;
    int freed = 0, count = -1;
    CHECK_CALL(t, MPI_Grequest_start(describe, let_go, ignore_cancel, &freed, &request));
    CHECK_CALL(t, MPIX_Sync_attach(sync, &request, cookie_of(1)));
    CHECK(t, MPIX_Sync_query(sync, &status) == MPIX_SYNC_EMPTY);
    CHECK_CALL(t, MPI_Cancel(&request));
    CHECK_CALL(t, MPI_Grequest_complete(request));
    CHECK_INT(t, freed, 0);
    CHECK_INT(t, number_of(MPIX_Sync_query(sync, &status)), 1);
    CHECK_INT(t, freed, 1);
    CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_INT(t, count, 3);
    CHECK_INT(t, status.MPI_TAG, 2);
}

// What fails says so with its event, or to who waits for all.
static void failures(struct check* t, MPIX_Sync sync)
{
    const int out[2] = {1, 2};
    int in = -1, count = -1;
    void* cookie = NULL;
    MPI_Request request;
    MPI_Status status;
    for (int way = 0; way < 3; ++way) {
        CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
        CHECK_CALL(t, MPIX_Sync_attach(sync, &request,
                                       way == 2 ? MPIX_SYNC_NO_COMPLETION_DATA : cookie_of(way)));
        CHECK_CALL(t, MPI_Send(out, 2, MPI_INT, 0, 1, MPI_COMM_SELF));
        if (way == 0) {
            CHECK_INT(t, number_of(await_event(sync, &status)), 0);
            CHECK_INT(t, check_error_class(status.MPI_ERROR), MPI_ERR_TRUNCATE);
        } else if (way == 1) {
            CHECK_CALL(t, MPIX_Sync_waitall(sync));
            REFUSED(t, MPIX_Sync_query_bulk(1, sync, &count, &cookie, &status), MPI_ERR_IN_STATUS);
            CHECK_INT(t, count, 1);
            CHECK_INT(t, number_of(cookie), 1);
            CHECK_INT(t, check_error_class(status.MPI_ERROR), MPI_ERR_TRUNCATE);
        } else {
            REFUSED(t, MPIX_Sync_waitall(sync), MPI_ERR_TRUNCATE);
        }
        check_empty(t, sync);
    }
}

static void refused(struct check* t, MPIX_Sync sync)
{
    MPIX_Sync other = MPIX_SYNC_NULL, copy = sync;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int count = 7, in = -1;
    void* cookie = NULL;
    REFUSED(t, MPIX_Sync_init(NULL), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_free(NULL), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_free(&other), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_attach(other, &request, &in), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_attach(sync, NULL, &in), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_attach(sync, &request, &in), MPI_ERR_REQUEST);
    REFUSED(t, MPIX_Sync_detach(sync, &request), MPI_ERR_REQUEST);
    REFUSED(t, MPIX_Sync_detach(sync, NULL), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_detach(other, &request), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_waitall(other), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_query_bulk(1, other, &count, &cookie, &status), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_query_bulk(1, sync, NULL, &cookie, &status), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_query_bulk(1, sync, &count, NULL, &status), MPI_ERR_ARG);
    REFUSED(t, MPIX_Sync_query_bulk(-1, sync, &count, &cookie, &status), MPI_ERR_COUNT);
    CHECK_CALL(t, MPIX_Sync_query_bulk(0, sync, &count, NULL, MPI_STATUSES_IGNORE));
    CHECK_INT(t, count, 0);
    CHECK_INT(t, MPIX_Sync_size(other), -1);
    CHECK_INT(t, MPIX_Sync_probe(other), -1);
    CHECK(t, MPIX_Sync_query(other, &status) == MPIX_SYNC_EMPTY);

    // With something attached it stays; an event that was not taken goes with it.
    CHECK_CALL(t, MPIX_Sync_init(&other));
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    REFUSED(t, MPIX_Sync_attach(other, &request, MPIX_SYNC_EMPTY), MPI_ERR_ARG);
    CHECK_CALL(t, MPIX_Sync_attach(other, &request, &in));
    REFUSED(t, MPIX_Sync_detach(sync, &request), MPI_ERR_REQUEST);
    REFUSED(t, MPIX_Sync_free(&other), MPI_ERR_PENDING);
    CHECK_CALL(t, MPI_Send(&count, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    CHECK_CALL(t, MPIX_Sync_waitall(other));
    CHECK_CALL(t, MPIX_Sync_free(&other));
    CHECK(t, other == MPIX_SYNC_NULL);
    REFUSED(t, MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);

    CHECK_CALL(t, MPIX_Sync_init(&other));
    CHECK_CALL(t, MPI_Recv_init(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    CHECK_CALL(t, MPIX_Sync_attach(other, &request, &in));
    REFUSED(t, MPIX_Sync_free(&other), MPI_ERR_PENDING);
    CHECK_CALL(t, MPI_Request_free(&request));
    copy = other;
    CHECK_CALL(t, MPIX_Sync_free(&other));
    REFUSED(t, MPIX_Sync_waitall(copy), MPI_ERR_ARG);
    CHECK_CALL(t, MPI_Psend_init(&in, 1, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &request));
    REFUSED(t, MPIX_Sync_attach(sync, &request, &in), MPI_ERR_REQUEST);
    CHECK_CALL(t, MPI_Request_free(&request));
}

static int test_main(void)
{
    struct check t = check_start("extension/sync");
    MPIX_Sync sync = MPIX_SYNC_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_CALL(&t, MPIX_Sync_init(&sync));
    check_empty(&t, sync);
    CHECK_CALL(&t, MPIX_Sync_waitall(sync));
    const int sizes[] = {0, 8, 200, 10000, long_bytes};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        ring(&t, sync, sizes[i]);
    many_at_once(&t, sync);
    order(&t, sync);
    for (int i = 0; i < 5; ++i)
        wait_for_others(&t, sync);
    gaps(&t, sync);
    detach_and_cancel(&t, sync);
    persistent(&t, sync);
    generalized(&t, sync);
    failures(&t, sync);
    refused(&t, sync);
    check_empty(&t, sync);
    CHECK_CALL(&t, MPIX_Sync_free(&sync));
    return check_finish(&t);
}
