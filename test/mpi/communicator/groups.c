// SPDX-License-Identifier: Apache-2.0
// Groups against a model: a group is a list of world ranks. Incl, excl, range forms, union,
// intersection, difference, translate, compare, size and rank, on random lists by seed.
#include "../check.h"

enum { size_max = 64, rounds = 60 };

struct list {
    int count;
    int ranks[size_max];
};

static int position(const struct list* l, int rank)
{
    for (int i = 0; i < l->count; ++i) {
        if (l->ranks[i] == rank)
            return i;
    }
    return MPI_UNDEFINED;
}

static void add(struct list* l, int rank)
{
    if (position(l, rank) == MPI_UNDEFINED)
        l->ranks[l->count++] = rank;
}

// Frees the group after it was compared with the list.
static void expect(struct check* t, const char* what, MPI_Group group, const struct list* want)
{
    MPI_Group world;
    int size = -1, rank = -1, indices[size_max], translated[size_max];
    const long failures = t->failures;
    CHECK_CALL(t, MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_CALL(t, MPI_Group_size(group, &size));
    CHECK_CALL(t, MPI_Group_rank(group, &rank));
    CHECK_INT(t, size, want->count);
    CHECK_INT(t, rank, position(want, t->rank));
    if (size == 0)
        CHECK(t, group == MPI_GROUP_EMPTY);
    for (int i = 0; i < want->count && size == want->count; ++i)
        indices[i] = i;
    if (size == want->count) {
        CHECK_CALL(t, MPI_Group_translate_ranks(group, size, indices, world, translated));
        for (int i = 0; i < size; ++i)
            CHECK_INT(t, translated[i], want->ranks[i]);
    }
    // The other way round: world ranks outside are MPI_UNDEFINED.
    for (int i = 0; i < t->size; ++i)
        indices[i] = i;
    CHECK_CALL(t, MPI_Group_translate_ranks(world, t->size, indices, group, translated));
    for (int i = 0; i < t->size; ++i)
        CHECK_INT(t, translated[i], position(want, i));
    CHECK_CALL(t, MPI_Group_free(&world));
    CHECK_CALL(t, MPI_Group_free(&group));
    CHECK(t, group == MPI_GROUP_NULL);
    if (t->failures != failures)
        fprintf(stderr, "groups: the operation was %s\n", what);
}

static struct list draw(const struct check* t, uint64_t* random)
{
    struct list l = {0, {0}};
    for (int left = check_below(random, t->size + 1); left > 0; --left) {
        add(&l, check_below(random, t->size));
    }
    return l;
}

static MPI_Group make(struct check* t, const struct list* l)
{
    MPI_Group world, group = MPI_GROUP_NULL;
    CHECK_CALL(t, MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_CALL(t, MPI_Group_incl(world, l->count, l->ranks, &group));
    CHECK_CALL(t, MPI_Group_free(&world));
    return group;
}

static void set_operations(struct check* t, uint64_t* random)
{
    const struct list a = draw(t, random), b = draw(t, random);
    struct list all = a, both = {0, {0}}, only = {0, {0}};
    MPI_Group first = make(t, &a), second = make(t, &b), result;
    int same = a.count == b.count, subset = 1, compared = -1;
    for (int i = 0; i < b.count; ++i)
        add(&all, b.ranks[i]);
    for (int i = 0; i < a.count; ++i) {
        const int shared = position(&b, a.ranks[i]) != MPI_UNDEFINED;
        add(shared ? &both : &only, a.ranks[i]);
        same = same && a.ranks[i] == b.ranks[i];
        subset = subset && shared;
    }
    CHECK_CALL(t, MPI_Group_union(first, second, &result));
    expect(t, "union", result, &all);
    CHECK_CALL(t, MPI_Group_intersection(first, second, &result));
    expect(t, "intersection", result, &both);
    CHECK_CALL(t, MPI_Group_difference(first, second, &result));
    expect(t, "difference", result, &only);
    CHECK_CALL(t, MPI_Group_compare(first, second, &compared));
    CHECK_INT(t, compared,
              same                           ? MPI_IDENT
              : subset && a.count == b.count ? MPI_SIMILAR
                                             : MPI_UNEQUAL);
    expect(t, "incl", first, &a);
    expect(t, "incl", second, &b);
}

static void selections(struct check* t, uint64_t* random)
{
    const struct list base = draw(t, random);
    struct list picked = {0, {0}}, kept = {0, {0}}, indices = {0, {0}};
    MPI_Group group = make(t, &base), result;
    for (int i = 0; i < base.count; ++i) {
        if (check_below(random, 2))
            add(&indices, check_below(random, base.count));
    }
    for (int i = 0; i < indices.count; ++i)
        add(&picked, base.ranks[indices.ranks[i]]);
    for (int i = 0; i < base.count; ++i) {
        if (position(&indices, i) == MPI_UNDEFINED)
            add(&kept, base.ranks[i]);
    }
    CHECK_CALL(t, MPI_Group_incl(group, indices.count, indices.ranks, &result));
    expect(t, "incl of a group", result, &picked);
    CHECK_CALL(t, MPI_Group_excl(group, indices.count, indices.ranks, &result));
    expect(t, "excl", result, &kept);
    expect(t, "the base", group, &base);
}

// One range up, one single rank after it, one range down before: as the standard writes them.
static void ranges(struct check* t, int stride)
{
    const int last = t->size - 1;
    int range[1][3] = {{0, last, stride}}, down[1][3] = {{last, 0, -stride}};
    struct list up_list = {0, {0}}, down_list = {0, {0}}, rest = {0, {0}};
    MPI_Group world, result;
    for (int i = 0; i <= last; i += stride)
        add(&up_list, i);
    for (int i = last; i >= 0; i -= stride)
        add(&down_list, i);
    for (int i = 0; i <= last; ++i) {
        if (i % stride != 0)
            add(&rest, i);
    }
    CHECK_CALL(t, MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_CALL(t, MPI_Group_range_incl(world, 1, range, &result));
    expect(t, "range_incl upwards", result, &up_list);
    CHECK_CALL(t, MPI_Group_range_incl(world, 1, down, &result));
    expect(t, "range_incl downwards", result, &down_list);
    CHECK_CALL(t, MPI_Group_range_excl(world, 1, range, &result));
    expect(t, "range_excl", result, &rest);
    CHECK_CALL(t, MPI_Group_free(&world));
}

static void empty(struct check* t)
{
    MPI_Group world, result;
    int size = -1, rank = -1, none = MPI_PROC_NULL, translated = 0;
    struct list all = {0, {0}}, nobody = {0, {0}};
    for (int i = 0; i < t->size; ++i)
        add(&all, i);
    CHECK_CALL(t, MPI_Group_size(MPI_GROUP_EMPTY, &size));
    CHECK_INT(t, size, 0);
    CHECK_CALL(t, MPI_Group_rank(MPI_GROUP_EMPTY, &rank));
    CHECK_INT(t, rank, MPI_UNDEFINED);
    CHECK_CALL(t, MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_CALL(t, MPI_Group_union(MPI_GROUP_EMPTY, world, &result));
    expect(t, "union with empty", result, &all);
    CHECK_CALL(t, MPI_Group_intersection(world, MPI_GROUP_EMPTY, &result));
    expect(t, "intersection with empty", result, &nobody);
    CHECK_CALL(t, MPI_Group_difference(world, world, &result));
    expect(t, "difference with itself", result, &nobody);
    CHECK_CALL(t, MPI_Group_incl(world, 0, NULL, &result));
    expect(t, "incl of nobody", result, &nobody);
    CHECK_CALL(t, MPI_Group_excl(world, 0, NULL, &result));
    expect(t, "excl of nobody", result, &all);
    CHECK_CALL(t, MPI_Group_translate_ranks(world, 1, &none, world, &translated));
    CHECK_INT(t, translated, MPI_PROC_NULL);
    CHECK_CALL(t, MPI_Group_free(&world));
}

static int test_main(void)
{
    struct check t = check_start("groups");
    uint64_t random = (uint64_t)check_setting("CHECK_SEED", 1);
    if (!CHECK(&t, t.size <= size_max))
        return check_finish(&t);
    empty(&t);
    for (int stride = 1; stride <= 4; ++stride)
        ranges(&t, stride);
    for (int i = 0; i < rounds; ++i) {
        set_operations(&t, &random);
        selections(&t, &random);
    }
    return check_finish(&t);
}
