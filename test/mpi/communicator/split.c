// SPDX-License-Identifier: Apache-2.0
// Comm_split: colours, MPI_UNDEFINED, order by key, ties by old rank; parts talk inside only.
#include "../check.h"

enum { size_max = 64 };

struct rule {
    const char* name;
    int (*color)(int rank, int size);
    int (*key)(int rank, int size);
};

static int all_one(int rank, int size)
{
    (void)rank;
    (void)size;
    return 3;
}
static int by_parity(int rank, int size)
{
    (void)size;
    return rank % 2;
}
static int one_each(int rank, int size)
{
    (void)size;
    return 1000000 * rank;
}
static int some_none(int rank, int size)
{
    (void)size;
    return rank % 3 == 1 ? MPI_UNDEFINED : 0;
}
static int none(int rank, int size)
{
    (void)rank;
    (void)size;
    return MPI_UNDEFINED;
}
static int only_last(int rank, int size)
{
    return rank == size - 1 ? 5 : MPI_UNDEFINED;
}
static int forward(int rank, int size)
{
    (void)size;
    return rank;
}
static int backward(int rank, int size)
{
    (void)size;
    return -rank;
}
static int tied(int rank, int size)
{
    (void)rank;
    (void)size;
    return -7;
}
static int pairs_tied(int rank, int size)
{
    return (size - rank) / 2;
}
static int extremes(int rank, int size)
{
    (void)size;
    return rank % 3 == 0 ? INT32_MAX : rank % 3 == 1 ? INT32_MIN : 0;
}

// The ranks of the part of `rank`, in order of key and old rank; answers how many.
static int model(const struct rule* rule, int rank, int size, int* members)
{
    const int color = rule->color(rank, size);
    int count = 0;
    for (int r = 0; r < size; ++r) {
        if (rule->color(r, size) != color)
            continue;
        int at = count++;
        while (at > 0 && rule->key(members[at - 1], size) > rule->key(r, size)) {
            members[at] = members[at - 1];
            --at;
        }
        members[at] = r;
    }
    return count;
}

static void check_part(struct check* t, MPI_Comm part, const int* members, int count)
{
    int rank = -1, size = -1, value = -1, sum = 0, want = 0, order[size_max];
    MPI_Group world, group;
    CHECK_CALL(t, MPI_Comm_rank(part, &rank));
    CHECK_CALL(t, MPI_Comm_size(part, &size));
    if (!CHECK_INT(t, size, count) || !CHECK(t, rank >= 0 && rank < count))
        return;
    CHECK_INT(t, members[rank], t->rank);
    CHECK_CALL(t, MPI_Comm_group(part, &group));
    CHECK_CALL(t, MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < count; ++i) {
        int old = -1;
        CHECK_CALL(t, MPI_Group_translate_ranks(group, 1, &i, world, &old));
        CHECK_INT(t, old, members[i]);
    }
    CHECK_CALL(t, MPI_Group_free(&group));
    CHECK_CALL(t, MPI_Group_free(&world));
    CHECK_CALL(t, MPI_Sendrecv(&t->rank, 1, MPI_INT, (rank + 1) % size, 4, &value, 1, MPI_INT,
                               (rank + size - 1) % size, 4, part, MPI_STATUS_IGNORE));
    CHECK_INT(t, value, members[(rank + size - 1) % size]);
    CHECK_CALL(t, MPI_Allreduce(&t->rank, &sum, 1, MPI_INT, MPI_SUM, part));
    for (int i = 0; i < count; ++i)
        want += members[i];
    CHECK_INT(t, sum, want);
    CHECK_CALL(t, MPI_Allgather(&t->rank, 1, MPI_INT, order, 1, MPI_INT, part));
    for (int i = 0; i < count; ++i)
        CHECK_INT(t, order[i], members[i]);
}

static void by_rule(struct check* t, const struct rule* rule)
{
    MPI_Comm part = MPI_COMM_WORLD;
    int members[size_max];
    const long failures = t->failures;
    const int color = rule->color(t->rank, t->size), key = rule->key(t->rank, t->size);
    CHECK_CALL(t, MPI_Comm_split(MPI_COMM_WORLD, color, key, &part));
    if (color == MPI_UNDEFINED) {
        CHECK(t, part == MPI_COMM_NULL);
    } else if (CHECK(t, part != MPI_COMM_NULL)) {
        check_part(t, part, members, model(rule, t->rank, t->size, members));
        CHECK_CALL(t, MPI_Comm_free(&part));
    }
    if (t->failures != failures)
        fprintf(stderr, "split: the rule was %s\n", rule->name);
}

// Split again and again down to single ranks, using every level.
static void nested(struct check* t)
{
    MPI_Comm comm;
    int size = t->size, rank = t->rank;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    while (size > 1) {
        MPI_Comm half;
        int sum = 0;
        const int one = 1, lower = rank < size / 2;
        CHECK_CALL(t, MPI_Comm_split(comm, lower, rank, &half));
        CHECK_CALL(t, MPI_Comm_free(&comm));
        comm = half;
        CHECK_CALL(t, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_INT(t, sum, lower ? size / 2 : size - size / 2);
        CHECK_CALL(t, MPI_Comm_size(comm, &size));
        CHECK_CALL(t, MPI_Comm_rank(comm, &rank));
    }
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

static int test_main(void)
{
    struct check t = check_start("split");
    static const struct rule rules[] = {
        {"one part, in order", all_one, forward}, {"one part, backwards", all_one, backward},
        {"ties keep order", all_one, tied},       {"parity, backwards", by_parity, backward},
        {"parity, ties", by_parity, pairs_tied},  {"a part each", one_each, forward},
        {"some undefined", some_none, backward},  {"all undefined", none, forward},
        {"only the last", only_last, tied},       {"extreme keys", all_one, extremes},
    };
    if (!CHECK(&t, t.size <= size_max))
        return check_finish(&t);
    for (int i = 0; i < (int)(sizeof rules / sizeof rules[0]); ++i)
        by_rule(&t, &rules[i]);
    nested(&t);
    return check_finish(&t);
}
