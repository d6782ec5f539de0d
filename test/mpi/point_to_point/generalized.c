// SPDX-License-Identifier: Apache-2.0
// Generalized requests: what the program completes, with its callbacks in the right places.
#define CHECK_OWN_INIT
#include "../check.h"

#include <pthread.h>

struct work {
    int queried, freed, cancelled, was_complete, query_error, free_error;
};

static int query(void* state, MPI_Status* status)
{
    struct work* work = state;
    ++work->queried;
    MPI_Status_set_elements(status, MPI_INT, 42);
    MPI_Status_set_cancelled(status, work->cancelled != 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 17;
    return work->query_error;
}

static int release(void* state)
{
    struct work* work = state;
    ++work->freed;
    return work->free_error;
}

static int cancel(void* state, int complete)
{
    struct work* work = state;
    ++work->cancelled;
    work->was_complete = complete;
    return MPI_SUCCESS;
}

static MPI_Request begin(struct check* t, struct work* work)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const struct work fresh = {0, 0, 0, -1, MPI_SUCCESS, MPI_SUCCESS};
    *work = fresh;
    CHECK_CALL(t, MPI_Grequest_start(query, release, cancel, work, &request));
    CHECK(t, request != MPI_REQUEST_NULL);
    return request;
}

static void completed(struct check* t)
{
    struct work work;
    MPI_Status status;
    int flag = -1, count = -1;
    MPI_Request request = begin(t, &work);
    CHECK_CALL(t, MPI_Test(&request, &flag, &status));
    CHECK_INT(t, flag, 0);
    CHECK_INT(t, work.queried, 0);
    CHECK_CALL(t, MPI_Grequest_complete(request));
    CHECK_INT(t, work.freed, 0);
    CHECK_CALL(t, MPI_Request_get_status(request, &flag, &status));
    CHECK_INT(t, flag, 1);
    CHECK_INT(t, work.queried, 1);
    CHECK_INT(t, work.freed, 0);
    CHECK_CALL(t, MPI_Get_count(&status, MPI_INT, &count));
    CHECK_INT(t, count, 42);
    CHECK_CALL(t, MPI_Wait(&request, &status));
    CHECK(t, request == MPI_REQUEST_NULL);
    CHECK_INT(t, work.queried, 2);
    CHECK_INT(t, work.freed, 1);
    CHECK_INT(t, status.MPI_SOURCE, 3);
    CHECK_INT(t, status.MPI_TAG, 17);
    request = begin(t, &work);
    CHECK_CALL(t, MPI_Grequest_complete(request));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(t, work.freed, 1);
}

static void cancelled(struct check* t)
{
    struct work work;
    MPI_Status status;
    int flag = 0;
    MPI_Request request = begin(t, &work);
    CHECK_CALL(t, MPI_Cancel(&request));
    CHECK_INT(t, work.cancelled, 1);
    CHECK_INT(t, work.was_complete, 0);
    CHECK_CALL(t, MPI_Grequest_complete(request));
    CHECK_CALL(t, MPI_Cancel(&request));
    CHECK_INT(t, work.was_complete != 0, 1);
    CHECK_CALL(t, MPI_Wait(&request, &status));
    CHECK_CALL(t, MPI_Test_cancelled(&status, &flag));
    CHECK_INT(t, flag, 1);
}

// Freed before or after it is complete: free_fn runs once, when both have happened.
static void freed(struct check* t)
{
    struct work work;
    MPI_Request request = begin(t, &work);
    const MPI_Request handle = request;
    CHECK_CALL(t, MPI_Request_free(&request));
    CHECK(t, request == MPI_REQUEST_NULL);
    CHECK_INT(t, work.freed, 0);
    CHECK_CALL(t, MPI_Grequest_complete(handle));
    CHECK_INT(t, work.freed, 1);
    CHECK_INT(t, work.queried, 0);
    request = begin(t, &work);
    CHECK_CALL(t, MPI_Grequest_complete(request));
    CHECK_CALL(t, MPI_Request_free(&request));
    CHECK_INT(t, work.freed, 1);
    CHECK_INT(t, work.queried, 0);
}

// With messages in one list.
static void among_others(struct check* t)
{
    struct work work;
    int out = 5, in = 0, index = -1, flag = 0;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    requests[0] = begin(t, &work);
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, t->rank, 1, MPI_COMM_WORLD, &requests[1]));
    requests[2] = MPI_REQUEST_NULL;
    CHECK_CALL(t, MPI_Testall(3, requests, &flag, statuses));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, t->rank, 1, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Waitany(3, requests, &index, &statuses[0]));
    CHECK_INT(t, index, 1);
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, t->rank, 1, MPI_COMM_WORLD, &requests[1]));
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, t->rank, 1, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Grequest_complete(requests[0]));
    CHECK_CALL(t, MPI_Waitall(3, requests, statuses));
    CHECK_INT(t, statuses[0].MPI_TAG, 17);
    CHECK_INT(t, statuses[1].MPI_TAG, 1);
    CHECK_INT(t, work.freed, 1);
}

static void failing(struct check* t)
{
    struct work work;
    MPI_Request request = begin(t, &work);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    work.query_error = MPI_ERR_OTHER;
    CHECK_CALL(t, MPI_Grequest_complete(request));
    REFUSED(t, MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    CHECK_INT(t, work.freed, 1);
    int in = 0;
    MPI_Request receive;
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, t->rank, 1, MPI_COMM_WORLD, &receive));
    if (!t->lenient) {
        REFUSED(t, MPI_Grequest_complete(receive), MPI_ERR_REQUEST);
        request = begin(t, &work);
        CHECK_CALL(t, MPI_Grequest_complete(request));
        REFUSED(t, MPI_Grequest_complete(request), MPI_ERR_REQUEST);
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    CHECK_CALL(t, MPI_Cancel(&receive));
    CHECK_CALL(t, MPI_Wait(&receive, MPI_STATUS_IGNORE));
}

struct completer {
    MPI_Request request;
    int code;
};

static void* complete_it(void* argument)
{
    struct completer* completer = argument;
    completer->code = MPI_Grequest_complete(completer->request);
    return NULL;
}

// Another thread completes what this one waits for.
static void by_thread(struct check* t)
{
    struct work work;
    pthread_t thread;
    int level = 0;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE || getenv("HEADWAY_TEAM") != NULL)
        return;
    for (int i = 0; i < 50; ++i) {
        MPI_Request request = begin(t, &work);
        struct completer completer = {request, -1};
        CHECK_INT(t, pthread_create(&thread, NULL, complete_it, &completer), 0);
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        pthread_join(thread, NULL);
        CHECK_INT(t, completer.code, MPI_SUCCESS);
        CHECK_INT(t, work.freed, 1);
    }
}

static int test_main(void)
{
    int level = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    struct check t = check_start("generalized");
    completed(&t);
    cancelled(&t);
    freed(&t);
    among_others(&t);
    by_thread(&t);
    failing(&t);
    const int failures = check_finish(&t);
    MPI_Finalize();
    return failures;
}
