// SPDX-License-Identifier: Apache-2.0
// Error handlers: which one a communicator has, that copies inherit it, that a handler of the
// user is called with the communicator and the code, and lives on after it was freed.
#include "../check.h"

// A handler gets no argument of ours; the thread that made the failing call runs it, so what it
// saw is kept per thread.
static __thread int calls_seen;
static __thread int class_seen;
static __thread MPI_Comm comm_seen;

static void note(MPI_Comm* comm, int* code, ...)
{
    ++calls_seen;
    class_seen = check_error_class(*code);
    comm_seen = *comm;
}

static void note_other(MPI_Comm* comm, int* code, ...)
{
    (void)comm;
    (void)code;
    calls_seen += 100;
}

// The code goes to the caller after the handler returned (MPI 5.0, 9.3); MPICH answers success.
#define HANDLED(t, call, want) REFUSED(t, call, want, (t)->lenient ? MPI_SUCCESS : want)

static int fail_on(MPI_Comm comm)
{
    const int value = 0;
    return MPI_Send(&value, 1, MPI_INT, 1 << 20, 0, comm);
}

static void defaults(struct check* t)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    CHECK_CALL(t, MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(t, handler == MPI_ERRORS_ARE_FATAL);
    CHECK_CALL(t, MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler));
    CHECK(t, handler == MPI_ERRORS_ARE_FATAL);
}

static void returning(struct check* t)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm copy;
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_CALL(t, MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(t, handler == MPI_ERRORS_RETURN);
    REFUSED(t, fail_on(MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CHECK_CALL(t, MPI_Comm_get_errhandler(copy, &handler));
    CHECK(t, handler == MPI_ERRORS_RETURN);
    REFUSED(t, fail_on(copy), MPI_ERR_RANK);
    CHECK_CALL(t, MPI_Comm_free(&copy));
}

// An error that belongs to no object goes to the handler of MPI_COMM_SELF (MPI 5.0, 9.3), and while
// that has the one it had at first, to that of MPI_COMM_WORLD, as it did before MPI-4.
static void without_object(struct check* t)
{
    MPI_Errhandler handler;
    int size;
    REFUSED(t, MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    REFUSED(t, MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
    REFUSED(t, MPI_Comm_size(MPI_COMM_NULL, &size), MPI_ERR_COMM);
    CHECK_CALL(t, MPI_Comm_create_errhandler(note, &handler));
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    calls_seen = 0;
    HANDLED(t, MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    CHECK_INT(t, calls_seen, 1);
    CHECK(t, comm_seen == MPI_COMM_WORLD);
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    HANDLED(t, MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    CHECK_INT(t, calls_seen, 2);
    CHECK(t, t->lenient || comm_seen == MPI_COMM_SELF);
    CHECK_CALL(t, MPI_Errhandler_free(&handler));
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

static void user_created(struct check* t)
{
    MPI_Errhandler first, second, got = MPI_ERRHANDLER_NULL;
    MPI_Comm copy, part;
    CHECK_CALL(t, MPI_Comm_create_errhandler(note, &first));
    CHECK_CALL(t, MPI_Comm_create_errhandler(note_other, &second));
    CHECK(t, first != second);
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CHECK_CALL(t, MPI_Comm_set_errhandler(copy, first));
    CHECK_CALL(t, MPI_Comm_get_errhandler(copy, &got));
    CHECK(t, got == first);
    CHECK_CALL(t, MPI_Errhandler_free(&got));
    CHECK(t, got == MPI_ERRHANDLER_NULL);
    calls_seen = 0;
    HANDLED(t, fail_on(copy), MPI_ERR_RANK);
    CHECK_INT(t, calls_seen, 1);
    CHECK_INT(t, class_seen, MPI_ERR_RANK);
    CHECK(t, comm_seen == copy);
    // The world keeps its own, and a part made from the copy inherits the copy's.
    REFUSED(t, fail_on(MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK_INT(t, calls_seen, 1);
    CHECK_CALL(t, MPI_Comm_split(copy, 0, t->rank, &part));
    HANDLED(t, fail_on(part), MPI_ERR_RANK);
    CHECK_INT(t, calls_seen, 2);
    CHECK(t, comm_seen == part);
    // Freed handles; the communicators go on using what they have.
    CHECK_CALL(t, MPI_Errhandler_free(&first));
    CHECK(t, first == MPI_ERRHANDLER_NULL);
    HANDLED(t, fail_on(copy), MPI_ERR_RANK);
    CHECK_INT(t, calls_seen, 3);
    CHECK_CALL(t, MPI_Comm_set_errhandler(copy, second));
    HANDLED(t, fail_on(copy), MPI_ERR_RANK);
    CHECK_INT(t, calls_seen, 103);
    HANDLED(t, fail_on(part), MPI_ERR_RANK);
    CHECK_INT(t, calls_seen, 104);
    CHECK_CALL(t, MPI_Errhandler_free(&second));
    CHECK_CALL(t, MPI_Comm_free(&part));
    CHECK_CALL(t, MPI_Comm_free(&copy));
}

// An error of a wait goes to the handler of the communicator of the operation.
static void in_completion(struct check* t)
{
    MPI_Errhandler handler;
    MPI_Comm copy;
    MPI_Request sent, receive;
    const int out[4] = {1, 2, 3, 4};
    int in[2] = {0, 0};
    CHECK_CALL(t, MPI_Comm_create_errhandler(note, &handler));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CHECK_CALL(t, MPI_Comm_set_errhandler(copy, handler));
    CHECK_CALL(t, MPI_Errhandler_free(&handler));
    calls_seen = 0;
    CHECK_CALL(t, MPI_Irecv(in, 2, MPI_INT, t->rank, 0, copy, &receive));
    CHECK_CALL(t, MPI_Isend(out, 4, MPI_INT, t->rank, 0, copy, &sent));
    HANDLED(t, MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK_INT(t, calls_seen, 1);
    CHECK_INT(t, class_seen, MPI_ERR_TRUNCATE);
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Comm_free(&copy));
}

// After an error the rank and its communicator go on working.
static void goes_on(struct check* t)
{
    int sum = 0;
    for (int i = 0; i < 50; ++i)
        REFUSED(t, fail_on(MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK_CALL(t, MPI_Allreduce(&t->rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(t, sum, t->size * (t->size - 1) / 2);
}

static int test_main(void)
{
    struct check t = check_start("error_handlers");
    defaults(&t);
    returning(&t);
    without_object(&t);
    user_created(&t);
    in_completion(&t);
    goes_on(&t);
    return check_finish(&t);
}
