// SPDX-License-Identifier: Apache-2.0
// Comm_compare and Group_compare: identical, congruent, similar, unequal.
#include "../check.h"

static void expect(struct check* t, MPI_Comm a, MPI_Comm b, int want)
{
    int result = -1;
    CHECK_CALL(t, MPI_Comm_compare(a, b, &result));
    CHECK_INT(t, result, want);
    result = -1;
    CHECK_CALL(t, MPI_Comm_compare(b, a, &result));
    CHECK_INT(t, result, want);
}

static void expect_groups(struct check* t, MPI_Comm a, MPI_Comm b, int want)
{
    MPI_Group first, second;
    int result = -1;
    CHECK_CALL(t, MPI_Comm_group(a, &first));
    CHECK_CALL(t, MPI_Comm_group(b, &second));
    CHECK_CALL(t, MPI_Group_compare(first, second, &result));
    CHECK_INT(t, result, want);
    CHECK_CALL(t, MPI_Group_free(&first));
    CHECK_CALL(t, MPI_Group_free(&second));
}

static int test_main(void)
{
    struct check t = check_start("compare");
    MPI_Comm copy, reversed, again, part;
    CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CHECK_CALL(&t, MPI_Comm_split(MPI_COMM_WORLD, 0, -t.rank, &reversed));
    CHECK_CALL(&t, MPI_Comm_split(reversed, 0, t.rank, &again));
    CHECK_CALL(&t, MPI_Comm_split(MPI_COMM_WORLD, t.rank == 0, 0, &part));
    const int similar = t.size == 1 ? MPI_CONGRUENT : MPI_SIMILAR;
    const int unequal = t.size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL;
    expect(&t, MPI_COMM_WORLD, MPI_COMM_WORLD, MPI_IDENT);
    expect(&t, MPI_COMM_SELF, MPI_COMM_SELF, MPI_IDENT);
    expect(&t, copy, copy, MPI_IDENT);
    expect(&t, MPI_COMM_WORLD, copy, MPI_CONGRUENT);
    expect(&t, MPI_COMM_WORLD, again, MPI_CONGRUENT);
    expect(&t, MPI_COMM_WORLD, reversed, similar);
    expect(&t, copy, reversed, similar);
    expect(&t, MPI_COMM_WORLD, part, unequal);
    expect(&t, MPI_COMM_WORLD, MPI_COMM_SELF, unequal);
    expect(&t, MPI_COMM_SELF, part, t.rank == 0 || t.size == 2 ? MPI_CONGRUENT : MPI_UNEQUAL);
    expect_groups(&t, MPI_COMM_WORLD, copy, MPI_IDENT);
    expect_groups(&t, MPI_COMM_WORLD, again, MPI_IDENT);
    expect_groups(&t, MPI_COMM_WORLD, reversed, t.size == 1 ? MPI_IDENT : MPI_SIMILAR);
    expect_groups(&t, MPI_COMM_WORLD, part, t.size == 1 ? MPI_IDENT : MPI_UNEQUAL);
    CHECK_CALL(&t, MPI_Comm_free(&copy));
    CHECK_CALL(&t, MPI_Comm_free(&reversed));
    CHECK_CALL(&t, MPI_Comm_free(&again));
    CHECK_CALL(&t, MPI_Comm_free(&part));
    return check_finish(&t);
}
