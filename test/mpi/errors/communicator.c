// SPDX-License-Identifier: Apache-2.0
// Wrong arguments to the calls on communicators, groups, error handlers and the environment.
#include "bad_handles.h"

static void null_comm(struct check* t, MPI_Comm bad, const char* what)
{
    MPI_Comm comm = bad, made;
    MPI_Group group;
    MPI_Errhandler handler;
    int x = 0;
    const long failures = t->failures;
    REFUSED(t, MPI_Comm_size(bad, &x), MPI_ERR_COMM);
    REFUSED(t, MPI_Comm_rank(bad, &x), MPI_ERR_COMM);
    REFUSED(t, MPI_Comm_group(bad, &group), MPI_ERR_COMM);
    REFUSED(t, MPI_Comm_dup(bad, &made), MPI_ERR_COMM);
    REFUSED(t, MPI_Comm_split(bad, 0, 0, &made), MPI_ERR_COMM);
    REFUSED(t, MPI_Comm_compare(bad, MPI_COMM_WORLD, &x), MPI_ERR_COMM);
    REFUSED(t, MPI_Comm_compare(MPI_COMM_WORLD, bad, &x), MPI_ERR_COMM);
    REFUSED(t, MPI_Comm_free(&comm), MPI_ERR_COMM);
    REFUSED(t, MPI_Comm_set_errhandler(bad, MPI_ERRORS_RETURN), MPI_ERR_COMM);
    REFUSED(t, MPI_Comm_get_errhandler(bad, &handler), MPI_ERR_COMM);
    if (t->failures != failures)
        fprintf(stderr, "errors: rows above are about %s\n", what);
}

static void comm_arguments(struct check* t)
{
    MPI_Comm world = MPI_COMM_WORLD, self = MPI_COMM_SELF, made;
    int x = 0;
    REFUSED(t, MPI_Comm_size(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    REFUSED(t, MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    REFUSED(t, MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, NULL), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Comm_group(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Comm_dup(MPI_COMM_SELF, NULL), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Comm_split(MPI_COMM_SELF, 0, 0, NULL), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Comm_free(NULL), MPI_ERR_ARG, MPI_ERR_COMM);
    REFUSED_UNSAFE(t, MPI_Comm_split(MPI_COMM_SELF, -5, 0, &made), MPI_ERR_ARG);
    REFUSED(t, MPI_Comm_free(&world), MPI_ERR_COMM, MPI_ERR_ARG);
    REFUSED(t, MPI_Comm_free(&self), MPI_ERR_COMM, MPI_ERR_ARG);
    CHECK(t, world == MPI_COMM_WORLD && self == MPI_COMM_SELF);
    CHECK_CALL(t, MPI_Comm_size(MPI_COMM_WORLD, &x));
    CHECK_INT(t, x, t->size);
}

static void bad_group(struct check* t, MPI_Group bad, const char* what)
{
    MPI_Group group = bad, made;
    int x = 0, y = 0, range[1][3] = {{0, 0, 1}};
    const long failures = t->failures;
    REFUSED(t, MPI_Group_size(bad, &x), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_rank(bad, &x), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_compare(bad, MPI_GROUP_EMPTY, &x), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_compare(MPI_GROUP_EMPTY, bad, &x), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_translate_ranks(bad, 1, &x, MPI_GROUP_EMPTY, &y), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_union(bad, MPI_GROUP_EMPTY, &made), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_union(MPI_GROUP_EMPTY, bad, &made), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_intersection(bad, MPI_GROUP_EMPTY, &made), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_difference(MPI_GROUP_EMPTY, bad, &made), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_incl(bad, 0, NULL, &made), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_excl(bad, 0, NULL, &made), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_range_incl(bad, 1, range, &made), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_range_excl(bad, 1, range, &made), MPI_ERR_GROUP);
    REFUSED(t, MPI_Group_free(&group), MPI_ERR_GROUP, MPI_ERR_ARG);
    if (t->failures != failures)
        fprintf(stderr, "errors: rows above are about %s\n", what);
}

static void group_arguments(struct check* t)
{
    MPI_Group world, made;
    const int outside[2] = {0, t->size}, twice[2] = {0, 0}, below[1] = {-1};
    int x = 0, y[2], far[1][3] = {{0, t->size, 1}}, still[1][3] = {{0, 0, 0}};
    CHECK_CALL(t, MPI_Comm_group(MPI_COMM_WORLD, &world));
    REFUSED(t, MPI_Group_size(world, NULL), MPI_ERR_ARG);
    REFUSED(t, MPI_Group_rank(world, NULL), MPI_ERR_ARG);
    REFUSED(t, MPI_Group_incl(world, -1, &x, &made), MPI_ERR_ARG, MPI_ERR_COUNT);
    REFUSED(t, MPI_Group_excl(world, -1, &x, &made), MPI_ERR_ARG, MPI_ERR_COUNT);
    REFUSED(t, MPI_Group_incl(world, 2, outside, &made), MPI_ERR_RANK, MPI_ERR_ARG);
    REFUSED(t, MPI_Group_excl(world, 2, outside, &made), MPI_ERR_RANK, MPI_ERR_ARG);
    REFUSED(t, MPI_Group_incl(world, 1, below, &made), MPI_ERR_RANK, MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Group_incl(world, t->size + 1, NULL, &made), MPI_ERR_ARG, MPI_ERR_RANK,
                   MPI_ERR_COUNT);
    // MPICH as released does not look for a rank named twice.
    if (t->size > 1 && !t->lenient) {
        REFUSED(t, MPI_Group_incl(world, 2, twice, &made), MPI_ERR_RANK, MPI_ERR_ARG);
        REFUSED(t, MPI_Group_excl(world, 2, twice, &made), MPI_ERR_RANK, MPI_ERR_ARG);
    }
    REFUSED(t, MPI_Group_range_incl(world, 1, far, &made), MPI_ERR_RANK, MPI_ERR_ARG);
    REFUSED(t, MPI_Group_range_incl(world, 1, still, &made), MPI_ERR_ARG, MPI_ERR_RANK);
    REFUSED(t, MPI_Group_range_excl(world, 1, far, &made), MPI_ERR_RANK, MPI_ERR_ARG);
    REFUSED(t, MPI_Group_range_incl(world, -1, far, &made), MPI_ERR_ARG, MPI_ERR_COUNT);
    REFUSED(t, MPI_Group_translate_ranks(world, 2, outside, world, y), MPI_ERR_RANK);
    REFUSED(t, MPI_Group_translate_ranks(world, -1, outside, world, y), MPI_ERR_ARG, MPI_ERR_COUNT);
    REFUSED_UNSAFE(t, MPI_Group_union(world, world, NULL), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Group_free(NULL), MPI_ERR_ARG, MPI_ERR_GROUP);
    CHECK_CALL(t, MPI_Group_free(&world));
}

static void ignore(MPI_Comm* comm, int* code, ...)
{
    (void)comm;
    (void)code;
}

static void handlers(struct check* t)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    const int classes[] = {MPI_ERR_ARG, MPI_ERR_ERRHANDLER, -1};
#define REFUSED_HANDLER(call) check_refused(t, __FILE__, __LINE__, #call, (call), classes)
    REFUSED_HANDLER(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL));
    REFUSED_HANDLER(MPI_Errhandler_free(&handler));
    if (t->skip_garbage)
        return;
    REFUSED_HANDLER(MPI_Comm_get_errhandler(MPI_COMM_WORLD, NULL));
    REFUSED_HANDLER(MPI_Comm_create_errhandler(NULL, &handler));
    REFUSED_HANDLER(MPI_Comm_create_errhandler(ignore, NULL));
    REFUSED_HANDLER(MPI_Comm_set_errhandler(MPI_COMM_WORLD, (MPI_Errhandler)0x77));
    CHECK_CALL(t, MPI_Comm_create_errhandler(ignore, &handler));
    const MPI_Errhandler freed = handler;
    CHECK_CALL(t, MPI_Errhandler_free(&handler));
    REFUSED_HANDLER(MPI_Comm_set_errhandler(MPI_COMM_WORLD, freed));
#undef REFUSED_HANDLER
}

static void environment(struct check* t)
{
    char text[MPI_MAX_ERROR_STRING];
    int x = 0, provided = 0;
    REFUSED_UNSAFE(t, MPI_Error_string(MPI_ERR_LASTCODE + 1000, text, &x), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Error_class(-5, &x), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Error_class(MPI_ERR_ARG, NULL), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Error_string(MPI_ERR_ARG, NULL, &x), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Error_string(MPI_ERR_ARG, text, NULL), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Get_processor_name(NULL, &x), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Get_processor_name(text, NULL), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Query_thread(NULL), MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Is_thread_main(NULL), MPI_ERR_ARG);
    // A second start is an error; MPICH ends the program for it.
    REFUSED_UNSAFE(t, MPI_Init(NULL, NULL), MPI_ERR_OTHER, MPI_ERR_ARG);
    REFUSED_UNSAFE(t, MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided), MPI_ERR_OTHER,
                   MPI_ERR_ARG);
}

static void stale(struct check* t)
{
    MPI_Comm comm, freed_comm;
    MPI_Group group, freed_group;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_CALL(t, MPI_Comm_group(comm, &group));
    freed_comm = comm;
    freed_group = group;
    CHECK_CALL(t, MPI_Comm_free(&comm));
    // A group made at once takes no part in what the freed handle means.
    CHECK_CALL(t, MPI_Group_free(&group));
    null_comm(t, freed_comm, "a freed comm");
    bad_group(t, freed_group, "a freed group");
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_CALL(t, MPI_Comm_group(comm, &group));
    null_comm(t, freed_comm, "a freed comm while another exists");
    bad_group(t, freed_group, "a freed group while another exists");
    CHECK_CALL(t, MPI_Group_free(&group));
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

static int test_main(void)
{
    struct check t = check_start("errors_communicator");
    struct bad_handles bad;
    bad_handles_fill(&bad, t.skip_garbage);
    return_errors(&t);
    null_comm(&t, MPI_COMM_NULL, "the null comm");
    bad_group(&t, MPI_GROUP_NULL, "the null group");
    for (int i = 0; i < bad.used; ++i) {
        null_comm(&t, (MPI_Comm)bad.values[i], "a garbage comm");
        bad_group(&t, (MPI_Group)bad.values[i], "a garbage group");
    }
    if (bad.used > 0)
        stale(&t);
    comm_arguments(&t);
    group_arguments(&t);
    handlers(&t);
    environment(&t);
    check_still_works(&t);
    return check_finish(&t);
}
