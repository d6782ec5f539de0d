// SPDX-License-Identifier: Apache-2.0
// Wrong arguments to Wait*, Test*, Request_free: null results, negative counts, requests that
// are freed, completed before, or no requests at all.
#include "bad_handles.h"

static void null_results(struct check* t)
{
    MPI_Request none = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag, index, indices[1];
    REFUSED_UNSAFE(t, MPI_Wait(NULL, &status), MPI_ERR_ARG, MPI_ERR_REQUEST);
    REFUSED_UNSAFE(t, MPI_Test(NULL, &flag, &status), MPI_ERR_ARG, MPI_ERR_REQUEST);
    REFUSED(t, MPI_Test(&none, NULL, &status), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Waitall(1, NULL, &status), MPI_ERR_ARG, MPI_ERR_REQUEST);
    REFUSED_UNSAFE(t, MPI_Testall(1, NULL, &flag, &status), MPI_ERR_ARG, MPI_ERR_REQUEST);
    REFUSED_UNSAFE(t, MPI_Testall(1, &none, NULL, &status), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Waitany(1, NULL, &index, &status), MPI_ERR_ARG, MPI_ERR_REQUEST);
    REFUSED_UNSAFE(t, MPI_Waitany(1, &none, NULL, &status), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Testany(1, NULL, &index, &flag, &status), MPI_ERR_ARG, MPI_ERR_REQUEST);
    REFUSED_UNSAFE(t, MPI_Testany(1, &none, NULL, &flag, &status), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Testany(1, &none, &index, NULL, &status), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Waitsome(1, NULL, &index, indices, &status), MPI_ERR_ARG,
                   MPI_ERR_REQUEST);
    REFUSED_UNSAFE(t, MPI_Waitsome(1, &none, NULL, indices, &status), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Testsome(1, NULL, &index, indices, &status), MPI_ERR_ARG,
                   MPI_ERR_REQUEST);
    REFUSED_UNSAFE(t, MPI_Testsome(1, &none, NULL, indices, &status), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Request_free(NULL), MPI_ERR_ARG, MPI_ERR_REQUEST);
    REFUSED(t, MPI_Request_free(&none), MPI_ERR_REQUEST);
}

static void negative_counts(struct check* t)
{
    MPI_Request none = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag, index, indices[1];
    REFUSED_UNSAFE(t, MPI_Waitall(-1, &none, &status), MPI_ERR_COUNT, MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Testall(-1, &none, &flag, &status), MPI_ERR_COUNT, MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Waitany(-1, &none, &index, &status), MPI_ERR_COUNT, MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Testany(-1, &none, &index, &flag, &status), MPI_ERR_COUNT, MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Waitsome(-1, &none, &index, indices, &status), MPI_ERR_COUNT,
                   MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Testsome(-1, &none, &index, indices, &status), MPI_ERR_COUNT,
                   MPI_ERR_ARG);
}

static void refused_everywhere(struct check* t, MPI_Request bad, const char* what)
{
    MPI_Request one = bad, list[2] = {MPI_REQUEST_NULL, bad};
    MPI_Status status, statuses[2];
    int flag, index, count, indices[2];
    const long failures = t->failures;
    REFUSED(t, MPI_Wait(&one, &status), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Test(&one, &flag, &status), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Waitall(2, list, statuses), MPI_ERR_REQUEST, MPI_ERR_IN_STATUS);
    REFUSED(t, MPI_Testall(2, list, &flag, statuses), MPI_ERR_REQUEST, MPI_ERR_IN_STATUS);
    REFUSED(t, MPI_Waitany(2, list, &index, &status), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Testany(2, list, &index, &flag, &status), MPI_ERR_REQUEST);
    REFUSED(t, MPI_Waitsome(2, list, &count, indices, statuses), MPI_ERR_REQUEST,
            MPI_ERR_IN_STATUS);
    REFUSED(t, MPI_Testsome(2, list, &count, indices, statuses), MPI_ERR_REQUEST,
            MPI_ERR_IN_STATUS);
    one = bad;
    REFUSED(t, MPI_Request_free(&one), MPI_ERR_REQUEST);
    if (t->failures != failures)
        fprintf(stderr, "errors: rows above are about %s\n", what);
}

static MPI_Request start_receive(struct check* t, int* in, int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_CALL(t, MPI_Irecv(in, 1, MPI_INT, t->rank, tag, MPI_COMM_WORLD, &request));
    return request;
}

static void stale(struct check* t)
{
    int in[3] = {0, 0, 0};
    const int out = 3;
    MPI_Request request = start_receive(t, &in[0], 1), old = request, next;
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, t->rank, 1, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    refused_everywhere(t, old, "a completed request");
    // The slot may be in use again: the old handle must not reach the new request.
    next = start_receive(t, &in[1], 2);
    CHECK(t, next != old);
    refused_everywhere(t, old, "a completed request while another is open");
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, t->rank, 2, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Wait(&next, MPI_STATUS_IGNORE));
    CHECK_INT(t, in[1], 3);
    request = start_receive(t, &in[2], 3);
    old = request;
    CHECK_CALL(t, MPI_Request_free(&request));
    refused_everywhere(t, old, "a freed request");
    CHECK_CALL(t, MPI_Send(&out, 1, MPI_INT, t->rank, 3, MPI_COMM_WORLD));
    // The freed receive still owns in[2]: a later message of the same sender comes after it.
    CHECK_CALL(t, MPI_Sendrecv(&out, 1, MPI_INT, t->rank, 4, &in[1], 1, MPI_INT, t->rank, 4,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(t, in[1], 3);
}

static int test_main(void)
{
    struct check t = check_start("errors_completion");
    struct bad_handles bad;
    bad_handles_fill(&bad, t.skip_garbage);
    return_errors(&t);
    null_results(&t);
    negative_counts(&t);
    for (int i = 0; i < bad.used; ++i) {
        refused_everywhere(&t, (MPI_Request)bad.values[i], "a garbage request");
    }
    if (bad.used > 0) {
        refused_everywhere(&t, (MPI_Request)(uintptr_t)MPI_COMM_WORLD, "a comm as request");
        stale(&t);
    }
    check_still_works(&t);
    return check_finish(&t);
}
