// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_create (collective, also with disjoint groups) and MPI_Comm_create_group (members only).
#include "../check.h"

static MPI_Group group_of(struct check* t, MPI_Comm comm, int first, int last, int stride)
{
    MPI_Group all, part;
    int range[1][3] = {{first, last, stride}};
    CHECK_CALL(t, MPI_Comm_group(comm, &all));
    CHECK_CALL(t, MPI_Group_range_incl(all, 1, range, &part));
    CHECK_CALL(t, MPI_Group_free(&all));
    return part;
}

// Sum over the members of their ranks in MPI_COMM_WORLD; frees the communicator.
static void use_and_free(struct check* t, MPI_Comm* comm, int size, int rank, int sum)
{
    int got_size = -1, got_rank = -1, got_sum = -1;
    CHECK(t, *comm != MPI_COMM_NULL);
    CHECK_CALL(t, MPI_Comm_size(*comm, &got_size));
    CHECK_CALL(t, MPI_Comm_rank(*comm, &got_rank));
    CHECK_INT(t, got_size, size);
    CHECK_INT(t, got_rank, rank);
    CHECK_CALL(t, MPI_Allreduce(&t->rank, &got_sum, 1, MPI_INT, MPI_SUM, *comm));
    CHECK_INT(t, got_sum, sum);
    CHECK_CALL(t, MPI_Comm_free(comm));
}

static int sum_of(int first, int last, int stride)
{
    int sum = 0;
    for (int i = first; stride > 0 ? i <= last : i >= last; i += stride)
        sum += i;
    return sum;
}

// Everybody passes the group of its own parity, in falling order.
static void disjoint_groups(struct check* t)
{
    const int parity = t->rank % 2;
    const int top = t->size - 1 - (t->size - 1 - parity) % 2;
    MPI_Group group = group_of(t, MPI_COMM_WORLD, top, parity, -2);
    MPI_Comm made;
    CHECK_CALL(t, MPI_Comm_create(MPI_COMM_WORLD, group, &made));
    use_and_free(t, &made, (top - parity) / 2 + 1, (top - t->rank) / 2, sum_of(parity, top, 2));
    CHECK_CALL(t, MPI_Group_free(&group));
}

static void others_get_null(struct check* t)
{
    MPI_Group group = group_of(t, MPI_COMM_WORLD, 0, t->size - 1, 2);
    MPI_Comm made = MPI_COMM_WORLD;
    CHECK_CALL(t, MPI_Comm_create(MPI_COMM_WORLD, group, &made));
    if (t->rank % 2 != 0) {
        CHECK(t, made == MPI_COMM_NULL);
    } else {
        use_and_free(t, &made, (t->size + 1) / 2, t->rank / 2, sum_of(0, t->size - 1, 2));
    }
    CHECK_CALL(t, MPI_Group_free(&group));
    made = MPI_COMM_WORLD;
    CHECK_CALL(t, MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &made));
    CHECK(t, made == MPI_COMM_NULL);
}

// Odd ranks never call; groups of pairs overlap and use one tag, each rank from low to high.
static void members_only(struct check* t)
{
    MPI_Comm made;
    if (t->rank % 2 == 0) {
        MPI_Group group = group_of(t, MPI_COMM_WORLD, 0, t->size - 1, 2);
        CHECK_CALL(t, MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &made));
        use_and_free(t, &made, (t->size + 1) / 2, t->rank / 2, sum_of(0, t->size - 1, 2));
        CHECK_CALL(t, MPI_Group_free(&group));
    }
    for (int low = 0; low + 1 < t->size; ++low) {
        if (t->rank != low && t->rank != low + 1)
            continue;
        MPI_Group group = group_of(t, MPI_COMM_WORLD, low, low + 1, 1);
        CHECK_CALL(t, MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &made));
        use_and_free(t, &made, 2, t->rank - low, 2 * low + 1);
        CHECK_CALL(t, MPI_Group_free(&group));
    }
}

// The application's messages and wildcards on the parent do not meet those of the library.
static void parent_is_busy(struct check* t)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    int in = -1, out = t->rank, flag = 1;
    MPI_Request open, sent;
    MPI_Comm made;
    MPI_Group group = group_of(t, MPI_COMM_WORLD, 0, t->size - 1, 1);
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &open));
    CHECK_CALL(t, MPI_Barrier(MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made));
    CHECK_CALL(t, MPI_Test(&open, &flag, MPI_STATUS_IGNORE));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Barrier(made));
    CHECK_CALL(t, MPI_Isend(&out, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &sent));
    CHECK_CALL(t, MPI_Wait(&open, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_INT(t, in, from);
    CHECK_CALL(t, MPI_Comm_free(&made));
    CHECK_CALL(t, MPI_Group_free(&group));
}

static void strangers_are_refused(struct check* t)
{
    if (t->size == 1 || t->lenient)  // a library is known to end there
        return;
    MPI_Group all;
    MPI_Comm made;
    CHECK_CALL(t, MPI_Comm_group(MPI_COMM_WORLD, &all));
    CHECK_CALL(t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    REFUSED(t, MPI_Comm_create(MPI_COMM_SELF, all, &made), MPI_ERR_GROUP);
    REFUSED(t, MPI_Comm_create_group(MPI_COMM_SELF, all, 1, &made), MPI_ERR_GROUP);
    CHECK_CALL(t, MPI_Group_free(&all));
}

static int test_main(void)
{
    struct check t = check_start("create");
    if (t.size > 1 || t.rank == 0)
        others_get_null(&t);
    if (t.size > 1)
        disjoint_groups(&t);
    members_only(&t);
    parent_is_busy(&t);
    strangers_are_refused(&t);
    return check_finish(&t);
}
