// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_split_type: ranks that share memory, or that are bound to the same hardware.
#include "../check.h"

// The ranks of this one's host.
struct neighbors {
    int count;
    int above;  // of higher rank
    int sum;    // of their ranks
};

static struct neighbors find_neighbors(struct check* t)
{
    struct neighbors found = {0, 0, 0};
    const size_t room = MPI_MAX_PROCESSOR_NAME;
    char own[MPI_MAX_PROCESSOR_NAME] = "";
    char* names = check_memory(room * (size_t)t->size);
    int length = 0;
    CHECK_CALL(t, MPI_Get_processor_name(own, &length));
    CHECK_CALL(t, MPI_Allgather(own, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names,
                                MPI_MAX_PROCESSOR_NAME, MPI_CHAR, MPI_COMM_WORLD));
    for (int rank = 0; rank < t->size; ++rank) {
        if (strcmp(names + room * (size_t)rank, own) == 0) {
            ++found.count;
            found.above += rank > t->rank;
            found.sum += rank;
        }
    }
    free(names);
    return found;
}

static void shared(struct check* t)
{
    const struct neighbors here = find_neighbors(t);
    MPI_Comm node;
    int size = 0, rank = -1, sum = -1;
    CHECK_CALL(t, MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -t->rank, MPI_INFO_NULL,
                                      &node));
    CHECK_CALL(t, MPI_Comm_size(node, &size));
    CHECK_CALL(t, MPI_Comm_rank(node, &rank));
    CHECK_INT(t, size, here.count);
    CHECK_INT(t, rank, here.above);
    CHECK_CALL(t, MPI_Allreduce(&t->rank, &sum, 1, MPI_INT, MPI_SUM, node));
    CHECK_INT(t, sum, here.sum);
    CHECK_CALL(t, MPI_Comm_free(&node));
}

// One rank at a time takes part.
static void some_stay_out(struct check* t)
{
    for (int root = 0; root < t->size; ++root) {
        MPI_Comm part = MPI_COMM_WORLD;
        int size = 0;
        CHECK_CALL(t, MPI_Comm_split_type(MPI_COMM_WORLD,
                                          t->rank == root ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0,
                                          MPI_INFO_NULL, &part));
        if (t->rank != root) {
            CHECK(t, part == MPI_COMM_NULL);
            continue;
        }
        CHECK_CALL(t, MPI_Comm_size(part, &size));
        CHECK_INT(t, size, 1);
        CHECK_CALL(t, MPI_Comm_free(&part));
    }
}

static void gives_null(struct check* t, int type, MPI_Info info)
{
    MPI_Comm part = MPI_COMM_WORLD;
    CHECK_CALL(t, MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &part));
    CHECK(t, part == MPI_COMM_NULL);
}

static void shares_memory(struct check* t, int type, MPI_Info info)
{
    const struct neighbors here = find_neighbors(t);
    MPI_Comm part;
    int size = 0;
    CHECK_CALL(t, MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
    CHECK_CALL(t, MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &part));
    CHECK_CALL(t, MPI_Comm_size(part, &size));
    CHECK_INT(t, size, here.count);
    CHECK_CALL(t, MPI_Comm_free(&part));
}

static void resources(struct check* t)
{
    const int guided[] = {MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED};
    const char* const unknown[] = {"no such thing", "hwloc://", "hwloc://Bridge", "Package"};
    MPI_Info info;
    CHECK_CALL(t, MPI_Info_create(&info));
    for (int i = 0; i < 2; ++i) {
        gives_null(t, guided[i], MPI_INFO_NULL);
        gives_null(t, guided[i], info);
        for (int k = 0; k < 4; ++k) {
            CHECK_CALL(t, MPI_Info_set(info, "mpi_hw_resource_type", unknown[k]));
            gives_null(t, guided[i], info);
        }
        shares_memory(t, guided[i], info);
        CHECK_CALL(t, MPI_Info_delete(info, "mpi_hw_resource_type"));
    }
    CHECK_CALL(t, MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD"));
    gives_null(t, MPI_COMM_TYPE_HW_GUIDED, info);
    CHECK_CALL(t, MPI_Info_free(&info));
}

static void set_size(struct check* t, MPI_Info info, const char* set, int wanted)
{
    MPI_Comm part;
    int size = 0;
    CHECK_CALL(t, MPI_Info_set(info, "mpi_pset_name", set));
    CHECK_CALL(t,
               MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
    CHECK_CALL(t, MPI_Comm_size(part, &size));
    CHECK_INT(t, size, wanted);
    CHECK_CALL(t, MPI_Comm_free(&part));
}

static void process_sets(struct check* t)
{
    MPI_Info info;
    CHECK_CALL(t, MPI_Info_create(&info));
    set_size(t, info, "mpi://WORLD", t->size);
    set_size(t, info, "mpi://SELF", 1);
    CHECK_CALL(t, MPI_Info_set(info, "mpi_pset_name", "none://SUCH"));
    gives_null(t, MPI_COMM_TYPE_RESOURCE_GUIDED, info);
    CHECK_CALL(t, MPI_Info_free(&info));
}

// What MPI says of one kind: 1, 0, or -1 where it says nothing.
static int is_bound_to_one(struct check* t, const char* kind)
{
    MPI_Info info;
    char value[8] = "";
    int length = sizeof value, found = 0;
    CHECK_CALL(t, MPI_Get_hw_resource_info(&info));
    CHECK_CALL(t, MPI_Info_get_string(info, kind, &length, value, &found));
    CHECK_CALL(t, MPI_Info_free(&info));
    CHECK(t, !found || strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
    return found ? strcmp(value, "true") == 0 : -1;
}

// Each key is the name of something that can be split by: those bound to one get a communicator,
// in which all are of one host.
static void kinds(struct check* t)
{
    const struct neighbors here = find_neighbors(t);
    const char* const names[] = {"hwloc://Package", "hwloc://NUMANode", "hwloc://L3Cache",
                                 "hwloc://L2Cache", "hwloc://L1Cache",  "hwloc://Core",
                                 "hwloc://PU"};
    int before = t->size;
    MPI_Info info;
    CHECK_CALL(t, MPI_Info_create(&info));
    for (int i = 0; i < 7; ++i) {
        MPI_Comm part;
        int size = 0;
        CHECK_CALL(t, MPI_Info_set(info, "mpi_hw_resource_type", names[i]));
        CHECK_CALL(
            t, MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, -t->rank, info, &part));
        CHECK_INT(t, part != MPI_COMM_NULL, is_bound_to_one(t, names[i]) == 1);
        if (part == MPI_COMM_NULL) {
            continue;
        }
        CHECK_CALL(t, MPI_Comm_size(part, &size));
        CHECK(t, size >= 1 && size <= here.count);
        if (i == 6) {
            CHECK(t, size <= before);  // a cpu is part of a core
        }
        before = size;
        CHECK_CALL(t, MPI_Comm_free(&part));
    }
    CHECK_CALL(t, MPI_Info_free(&info));
}

// Splitting again and again comes to an end, each time with fewer members.
static void unguided(struct check* t)
{
    MPI_Comm level = MPI_COMM_WORLD;
    int before = t->size + 1;
    while (level != MPI_COMM_NULL) {
        MPI_Comm next;
        int size = 0;
        CHECK_CALL(t, MPI_Comm_size(level, &size));
        CHECK(t, size < before);
        before = size;
        CHECK_CALL(t,
                   MPI_Comm_split_type(level, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &next));
        if (level != MPI_COMM_WORLD) {
            CHECK_CALL(t, MPI_Comm_free(&level));
        }
        level = next;
    }
}

// All ranks find that they do not agree, those that stay out too.
static void disagreement(struct check* t)
{
    const int types[] = {MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_UNGUIDED, MPI_UNDEFINED};
    MPI_Comm part;
    MPI_Info info;
    if (t->size == 1) {
        return;
    }
    REFUSED(t, MPI_Comm_split_type(MPI_COMM_WORLD, types[t->rank % 3], 0, MPI_INFO_NULL, &part),
            MPI_ERR_ARG);
    CHECK_CALL(t, MPI_Info_create(&info));
    CHECK_CALL(t, MPI_Info_set(info, "mpi_hw_resource_type",
                               t->rank == 0 ? "hwloc://Core" : "hwloc://PU"));
    REFUSED(t, MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part),
            MPI_ERR_INFO_VALUE);
    CHECK_CALL(t, MPI_Info_free(&info));
}

static void two_resources(struct check* t)
{
    MPI_Comm part;
    MPI_Info info;
    CHECK_CALL(t, MPI_Info_create(&info));
    CHECK_CALL(t, MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Core"));
    CHECK_CALL(t, MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD"));
    REFUSED(t, MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part),
            MPI_ERR_INFO);
    CHECK_CALL(t, MPI_Info_free(&info));
}

static int test_main(void)
{
    struct check t = check_start("split_type");
    MPI_Comm part;
    shared(&t);
    some_stay_out(&t);
    resources(&t);
    process_sets(&t);
    kinds(&t);
    unguided(&t);
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    REFUSED(&t, MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &part), MPI_ERR_ARG);
    disagreement(&t);
    two_resources(&t);
    return check_finish(&t);
}
