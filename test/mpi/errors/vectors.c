// SPDX-License-Identifier: Apache-2.0
// Wrong arguments to the collectives with a block for each rank and to their I-forms. What all
// ranks get wrong alike, and what only the root looks at, is refused before anything is sent. A
// block that is longer than the room for it is an error of the receiver alone.
#include "bad_handles.h"
#include "call_pair.h"

enum { ranks_max = 8, guard = -77 };

struct arguments {
    int* out;
    const int* out_counts;
    const int* out_places;
    MPI_Datatype out_type;
    const MPI_Datatype* out_types;
    int* in;
    const int* in_counts;
    const int* in_places;
    MPI_Datatype in_type;
    const MPI_Datatype* in_types;
    int root;
    MPI_Comm comm;
};

#define OUT a->out, a->out_counts, a->out_places, a->out_type
#define IN a->in, a->in_counts, a->in_places, a->in_type

CALL(gatherv, MPI_Gatherv(a->out, 1, a->out_type, IN, a->root, a->comm))
CALL(igatherv, MPI_Igatherv(a->out, 1, a->out_type, IN, a->root, a->comm, request))
CALL(scatterv, MPI_Scatterv(OUT, a->in, 1, a->in_type, a->root, a->comm))
CALL(iscatterv, MPI_Iscatterv(OUT, a->in, 1, a->in_type, a->root, a->comm, request))
CALL(allgatherv, MPI_Allgatherv(a->out, 1, a->out_type, IN, a->comm))
CALL(iallgatherv, MPI_Iallgatherv(a->out, 1, a->out_type, IN, a->comm, request))
CALL(alltoallv, MPI_Alltoallv(OUT, IN, a->comm))
CALL(ialltoallv, MPI_Ialltoallv(OUT, IN, a->comm, request))
CALL(alltoallw, MPI_Alltoallw(a->out, a->out_counts, a->out_places, a->out_types, a->in,
                              a->in_counts, a->in_places, a->in_types, a->comm))
CALL(ialltoallw, MPI_Ialltoallw(a->out, a->out_counts, a->out_places, a->out_types, a->in,
                                a->in_counts, a->in_places, a->in_types, a->comm, request))
CALL(reduce_scatter, MPI_Reduce_scatter(a->out, a->in, a->in_counts, a->in_type, MPI_SUM, a->comm))
CALL(ireduce_scatter,
     MPI_Ireduce_scatter(a->out, a->in, a->in_counts, a->in_type, MPI_SUM, a->comm, request))

// What a function looks at.
enum {
    has_out_list = 1,
    has_in_list = 2,
    has_out_type = 4,
    has_in_type = 8,
    has_in_places = 16,
    has_out_places = 32,
    has_types = 64,
    is_rooted = 128,
};

static const struct call_pair functions[] = {
    {"Gatherv", gatherv, igatherv,
     has_in_list | has_in_places | has_out_type | has_in_type | is_rooted},
    {"Scatterv", scatterv, iscatterv,
     has_out_list | has_out_places | has_out_type | has_in_type | is_rooted},
    {"Allgatherv", allgatherv, iallgatherv,
     has_in_list | has_in_places | has_out_type | has_in_type},
    {"Alltoallv", alltoallv, ialltoallv,
     has_out_list | has_in_list | has_out_places | has_in_places | has_out_type | has_in_type},
    {"Alltoallw", alltoallw, ialltoallw,
     has_out_list | has_in_list | has_out_places | has_in_places | has_types},
    {"Reduce_scatter", reduce_scatter, ireduce_scatter, has_in_list | has_in_type},
};
enum { function_count = sizeof functions / sizeof functions[0] };

static void one(struct check* t, const char* what, int takes, const struct arguments* arguments,
                const int* classes)
{
    for (int i = 0; i < function_count; ++i) {
        if ((functions[i].takes & takes) != takes)
            continue;
        // Lists of rooted calls are the root's: on the others they mean nothing, so the root
        // calls alone.
        const int is_roots = (functions[i].takes & is_rooted) && !(takes & is_rooted);
        if (is_roots && arguments->root != t->rank)
            continue;
        refused_pair(t, &functions[i], what, arguments, classes);
    }
}

struct lists {
    int counts[ranks_max], places[ranks_max], wrong[ranks_max];
    MPI_Datatype types[ranks_max], wrong_types[ranks_max];
    int out[ranks_max], in[ranks_max];
};

static struct arguments make_good(struct lists* l, int root)
{
    for (int i = 0; i < ranks_max; ++i) {
        l->counts[i] = l->wrong[i] = 1;
        l->places[i] = i;
        l->types[i] = l->wrong_types[i] = MPI_INT;
    }
    return (struct arguments){l->out,    l->counts, l->places, MPI_INT,  l->types, l->in,
                              l->counts, l->places, MPI_INT,   l->types, root,     MPI_COMM_WORLD};
}

static void count_rows(struct check* t, struct lists* l)
{
    static const int count_class[] = {MPI_ERR_COUNT, MPI_ERR_ARG, -1};
    for (int at = 0; at < t->size; ++at) {
        const struct arguments good = make_good(l, at);
        l->wrong[at] = -1;
        struct arguments a = good;
        a.out_counts = l->wrong;
        one(t, "a negative count to send", has_out_list, &a, count_class);
        a = good;
        a.in_counts = l->wrong;
        one(t, "a negative count to receive", has_in_list, &a, count_class);
        l->wrong[at] = INT32_MIN;
        one(t, "the lowest count", has_in_list, &a, count_class);
    }
}

static void type_rows(struct check* t, struct lists* l, const struct bad_handles* bad)
{
    static const int type_class[] = {MPI_ERR_TYPE, -1};
    for (int row = -1; row < bad->used; ++row) {
        const MPI_Datatype wrong = row < 0 ? MPI_DATATYPE_NULL : (MPI_Datatype)bad->values[row];
        const struct arguments good = make_good(l, row < 0 ? 0 : row % t->size);
        struct arguments a = good;
        a.out_type = wrong;
        one(t, "a wrong type to send", has_out_type, &a, type_class);
        a = good;
        a.in_type = wrong;
        one(t, "a wrong type to receive", has_in_type, &a, type_class);
        l->wrong_types[t->size - 1] = wrong;
        a = good;
        a.out_types = l->wrong_types;
        one(t, "a wrong type in the list to send", has_types, &a, type_class);
        a = good;
        a.in_types = l->wrong_types;
        one(t, "a wrong type in the list to receive", has_types, &a, type_class);
    }
}

static void null_rows(struct check* t, struct lists* l)
{
    static const int argument_class[] = {MPI_ERR_ARG, MPI_ERR_COUNT, -1};
    static const int buffer_class[] = {MPI_ERR_BUFFER, -1};
    static const int comm_class[] = {MPI_ERR_COMM, -1};
    static const int root_class[] = {MPI_ERR_ROOT, -1};
    const struct arguments good = make_good(l, t->size - 1);
    struct arguments a = good;
    a.comm = MPI_COMM_NULL;
    one(t, "the null comm", is_rooted, &a, comm_class);
    one(t, "the null comm", 0, &a, comm_class);
    const int roots[] = {-1, t->size, MPI_PROC_NULL, MPI_ROOT};
    for (int i = 0; i < (int)(sizeof roots / sizeof roots[0]); ++i) {
        a = good;
        a.root = roots[i];
        one(t, "a wrong root", is_rooted, &a, root_class);
    }
    a = good;
    a.out_counts = NULL;
    one(t, "no counts to send", has_out_list, &a, argument_class);
    a = good;
    a.in_counts = NULL;
    one(t, "no counts to receive", has_in_list, &a, argument_class);
    a = good;
    a.out_places = NULL;
    one(t, "no displacements to send", has_out_places, &a, argument_class);
    a = good;
    a.in_places = NULL;
    one(t, "no displacements to receive", has_in_places, &a, argument_class);
    a = good;
    a.out_types = NULL;
    one(t, "no types", has_types, &a, argument_class);
    a = good;
    a.out = NULL;
    one(t, "nothing to send", has_out_list, &a, buffer_class);
    a = good;
    a.in = NULL;
    one(t, "no room to receive", has_in_list, &a, buffer_class);
}

// Each rank sends one element more than its receiver has room for, to rank 0 only.
static void too_long(struct check* t, struct lists* l)
{
    const int is_root = t->rank == 0;
    int wide[2 * ranks_max], two[ranks_max], steps[ranks_max], to_first[ranks_max] = {2};
    int from_all[ranks_max] = {0};
    MPI_Comm comm;
    make_good(l, 0);
    for (int i = 0; i < 2 * ranks_max; ++i)
        wide[i] = 10 * t->rank + i;
    for (int i = 0; i < ranks_max; ++i) {
        two[i] = 2;
        steps[i] = 2 * i;
        from_all[i] = is_root;
        l->in[i] = guard;
    }
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    int code = MPI_Gatherv(wide, 2, MPI_INT, l->in, l->counts, l->places, MPI_INT, 0, comm);
    CHECK_INT(t, check_error_class(code), is_root ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    code = MPI_Scatterv(wide, two, steps, MPI_INT, l->in, 1, MPI_INT, 0, comm);
    CHECK_INT(t, check_error_class(code), MPI_ERR_TRUNCATE);
    for (int i = t->size; i < ranks_max; ++i)
        CHECK_INT(t, l->in[i], guard);
    code = MPI_Alltoallv(wide, to_first, steps, MPI_INT, l->in, from_all, l->places, MPI_INT, comm);
    CHECK_INT(t, check_error_class(code), is_root ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    for (int i = t->size; i < ranks_max; ++i)
        CHECK_INT(t, l->in[i], guard);
    // The communicator stays usable: blocks that fit go through.
    code = MPI_Alltoallv(wide, l->counts, l->places, MPI_INT, l->in, l->counts, l->places, MPI_INT,
                         comm);
    CHECK_INT(t, code, MPI_SUCCESS);
    for (int i = 0; i < t->size; ++i)
        CHECK_INT(t, l->in[i], 10 * i + t->rank);
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

static int test_main(void)
{
    struct check t = check_start("errors_vectors");
    struct bad_handles bad;
    struct lists lists;
    memset(&lists, 0, sizeof lists);
    if (!CHECK(&t, t.size <= ranks_max))
        return check_finish(&t);
    bad_handles_fill(&bad, t.skip_garbage);
    return_errors(&t);
    // MPICH looks at lists only where the rank happens to need them.
    if (!t.lenient) {
        count_rows(&t, &lists);
        type_rows(&t, &lists, &bad);
        null_rows(&t, &lists);
    }
    too_long(&t, &lists);
    check_still_works(&t);
    return check_finish(&t);
}
