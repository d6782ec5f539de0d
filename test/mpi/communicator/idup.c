// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_idup: does not wait for the others, copies attributes as they are at the call, and the
// duplicate works once its request is complete.
#include "../check.h"

enum { many = 6 };

static void works(struct check* t, MPI_Comm comm, int value)
{
    int sum = -1, result = -1;
    CHECK_CALL(t, MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_INT(t, sum, value * t->size);
    CHECK_CALL(t, MPI_Comm_compare(comm, MPI_COMM_WORLD, &result));
    CHECK_INT(t, result, MPI_CONGRUENT);
}

// Rank 0, which picks the context, comes last: the others must get past their calls.
static void does_not_wait(struct check* t)
{
    MPI_Comm copy;
    MPI_Request request;
    int token = 1;
    if (t->rank == 0) {
        for (int i = 1; i < t->size; ++i) {
            CHECK_CALL(t, MPI_Recv(&token, 1, MPI_INT, i, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        CHECK_CALL(t, MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request));
    } else {
        CHECK_CALL(t, MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request));
        CHECK(t, copy != MPI_COMM_NULL);
        CHECK_CALL(t, MPI_Send(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
    }
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    works(t, copy, 5);
    CHECK_CALL(t, MPI_Comm_free(&copy));
}

// Completed in another order than they were started.
static void many_at_once(struct check* t)
{
    MPI_Comm copies[many];
    MPI_Request requests[many];
    for (int i = 0; i < many; ++i) {
        CHECK_CALL(t, MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]));
    }
    int value = 2, sum = -1;
    CHECK_CALL(t, MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(t, sum, 2 * t->size);
    for (int i = many - 1; i >= 0; --i) {
        int flag = 0;
        while (!flag)
            CHECK_CALL(t, MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
        CHECK(t, requests[i] == MPI_REQUEST_NULL);
    }
    for (int i = 0; i < many; ++i) {
        works(t, copies[(i * 5) % many], i);
    }
    for (int i = 0; i < many; ++i)
        CHECK_CALL(t, MPI_Comm_free(&copies[i]));
}

static void attributes_of_the_call(struct check* t)
{
    int key = MPI_KEYVAL_INVALID, flag = 0;
    char values[2];
    char* seen = NULL;
    MPI_Comm parent, copy;
    MPI_Request request;
    CHECK_CALL(t, MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    CHECK_CALL(t, MPI_Comm_set_attr(parent, key, &values[0]));
    CHECK_CALL(t, MPI_Comm_idup(parent, &copy, &request));
    CHECK_CALL(t, MPI_Comm_set_attr(parent, key, &values[1]));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Comm_get_attr(copy, key, &seen, &flag));
    CHECK_INT(t, flag, 1);
    CHECK(t, seen == &values[0]);
    CHECK_CALL(t, MPI_Comm_free(&copy));
    CHECK_CALL(t, MPI_Comm_free(&parent));
    CHECK_CALL(t, MPI_Comm_free_keyval(&key));
}

static const char* const asserted[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source",
                                       "mpi_assert_exact_length", "mpi_assert_allow_overtaking"};
enum { asserted_count = sizeof asserted / sizeof asserted[0] };

static int has_hint(struct check* t, MPI_Comm comm)
{
    return check_has_hint(t, comm, "mpi_assert_no_any_tag", "true");
}

// What the application promises can be read back as it said it last, each promise by itself.
static void assertions(struct check* t)
{
    MPI_Comm comm;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int set = 0; set < asserted_count; ++set) {
        MPI_Info info;
        CHECK(t, !check_has_hint(t, comm, asserted[set], "true"));
        CHECK_CALL(t, MPI_Info_create(&info));
        CHECK_CALL(t, MPI_Info_set(info, asserted[set], "true"));
        CHECK_CALL(t, MPI_Comm_set_info(comm, info));
        CHECK_CALL(t, MPI_Info_free(&info));
        for (int seen = 0; seen < asserted_count; ++seen)
            CHECK_INT(t, check_has_hint(t, comm, asserted[seen], "true"), seen <= set);
    }
    for (int set = 0; set < asserted_count; ++set) {
        MPI_Info info;
        CHECK_CALL(t, MPI_Info_create(&info));
        CHECK_CALL(t, MPI_Info_set(info, asserted[set], "false"));
        CHECK_CALL(t, MPI_Comm_set_info(comm, info));
        CHECK_CALL(t, MPI_Info_free(&info));
        CHECK(t, check_has_hint(t, comm, asserted[set], "false"));
    }
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

// Hints come with the info argument and do not pass to plain duplicates.
static void hints(struct check* t)
{
    MPI_Info info;
    MPI_Comm copies[3];
    MPI_Request request;
    CHECK_CALL(t, MPI_Info_create(&info));
    CHECK_CALL(t, MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    CHECK_CALL(t, MPI_Info_set(info, "nobody_knows_this", "true"));
    CHECK_CALL(t, MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &copies[0], &request));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copies[1]));
    CHECK_CALL(t, MPI_Comm_dup(copies[0], &copies[2]));
    CHECK_INT(t, has_hint(t, copies[0]), 1);
    CHECK_INT(t, has_hint(t, copies[1]), 1);
    CHECK_INT(t, has_hint(t, copies[2]), 0);
    CHECK_CALL(t, MPI_Comm_set_info(copies[2], info));
    CHECK_INT(t, has_hint(t, copies[2]), 1);
    CHECK_CALL(t, MPI_Info_free(&info));
    for (int i = 0; i < 3; ++i)
        CHECK_CALL(t, MPI_Comm_free(&copies[i]));
}

static int test_main(void)
{
    struct check t = check_start("idup");
    does_not_wait(&t);
    many_at_once(&t);
    attributes_of_the_call(&t);
    hints(&t);
    assertions(&t);
    return check_finish(&t);
}
