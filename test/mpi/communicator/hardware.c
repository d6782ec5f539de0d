// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_split_type of ranks that bind themselves to cpus, some to the same one.
#define _GNU_SOURCE
#include <sched.h>

#include "../check.h"

// Binds the calling thread to one of its cpus, by turns; which one.
static int bind_to_one(struct check* t, const cpu_set_t* allowed)
{
    cpu_set_t wanted;
    int own = -1, turn = t->rank % CPU_COUNT(allowed);
    while (turn >= 0) {
        turn -= CPU_ISSET((size_t)++own, allowed) ? 1 : 0;
    }
    CPU_ZERO(&wanted);
    CPU_SET((size_t)own, &wanted);
    CHECK_INT(t, sched_setaffinity(0, sizeof wanted, &wanted), 0);
    return own;
}

// The lowest rank of the calling one's node: the same cpu of two nodes is not one.
static int node_of(struct check* t)
{
    MPI_Comm node;
    int first = t->rank;
    CHECK_CALL(t,
               MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    CHECK_CALL(t, MPI_Bcast(&first, 1, MPI_INT, 0, node));
    CHECK_CALL(t, MPI_Comm_free(&node));
    return first;
}

static int size_of(struct check* t, MPI_Comm comm)
{
    int size = 0;
    CHECK_CALL(t, MPI_Comm_size(comm, &size));
    return size;
}

static void says_so(struct check* t)
{
    MPI_Info info;
    char value[8] = "";
    int length = sizeof value, found = 0;
    CHECK_CALL(t, MPI_Get_hw_resource_info(&info));
    CHECK_CALL(t, MPI_Info_get_string(info, "hwloc://PU", &length, value, &found));
    CHECK(t, found && strcmp(value, "true") == 0);
    CHECK_CALL(t, MPI_Info_free(&info));
}

// Ranks of one cpu stay together, and no others.
static void guided(struct check* t, int own, const int* cpus)
{
    MPI_Comm part;
    MPI_Info info;
    int count = 0;
    for (int i = 0; i < t->size; ++i) {
        count += cpus[i] == own;
    }
    CHECK_CALL(t, MPI_Info_create(&info));
    CHECK_CALL(t, MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://pu"));
    CHECK_CALL(t, MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
    CHECK(t, part != MPI_COMM_NULL);
    CHECK_INT(t, size_of(t, part), count);
    int* members = check_memory(sizeof *members * (size_t)count);
    CHECK_CALL(t, MPI_Allgather(&own, 1, MPI_INT, members, 1, MPI_INT, part));
    for (int i = 0; i < count; ++i) {
        CHECK_INT(t, members[i], own);
    }
    free(members);
    CHECK_CALL(t, MPI_Comm_free(&part));
    CHECK_CALL(t, MPI_Info_free(&info));
}

// A strict part, where ranks are on several cpus; its name gives the same part again.
static void unguided(struct check* t, const int* cpus)
{
    MPI_Comm part, again;
    MPI_Info info;
    char value[64] = "";
    int length = sizeof value, found = 0, first = 0, result = MPI_UNEQUAL;
    for (int i = 0; i < t->size; ++i) {
        first += cpus[i] == cpus[0];
    }
    CHECK_CALL(t, MPI_Info_create(&info));
    CHECK_CALL(t, MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part));
    CHECK_INT(t, part != MPI_COMM_NULL, first < t->size);
    CHECK_CALL(t, MPI_Info_get_string(info, "mpi_hw_resource_type", &length, value, &found));
    CHECK_INT(t, found, part != MPI_COMM_NULL);
    if (part != MPI_COMM_NULL) {
        CHECK(t, size_of(t, part) < t->size);
        CHECK_CALL(t,
                   MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &again));
        CHECK_CALL(t, MPI_Comm_compare(part, again, &result));
        CHECK_INT(t, result, MPI_CONGRUENT);
        CHECK_CALL(t, MPI_Comm_free(&again));
        CHECK_CALL(t, MPI_Comm_free(&part));
    }
    CHECK_CALL(t, MPI_Info_free(&info));
}

// One cpu's ranks stay out: the others are a part then, of the whole still.
static void some_stay_out(struct check* t, int own, const int* cpus)
{
    MPI_Comm part;
    const int type = own == cpus[0] ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_UNGUIDED;
    CHECK_CALL(t, MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &part));
    CHECK_INT(t, part != MPI_COMM_NULL, own != cpus[0]);
    if (part != MPI_COMM_NULL) {
        CHECK(t, size_of(t, part) < t->size);
        CHECK_CALL(t, MPI_Comm_free(&part));
    }
}

static int test_main(void)
{
    struct check t = check_start("hardware");
    cpu_set_t before;
    int* cpus = check_memory(sizeof *cpus * (size_t)t.size);
    CHECK_INT(&t, sched_getaffinity(0, sizeof before, &before), 0);
    const int own = node_of(&t) * CPU_SETSIZE + bind_to_one(&t, &before);
    CHECK_CALL(&t, MPI_Allgather(&own, 1, MPI_INT, cpus, 1, MPI_INT, MPI_COMM_WORLD));
    says_so(&t);
    guided(&t, own, cpus);
    unguided(&t, cpus);
    some_stay_out(&t, own, cpus);
    CHECK_INT(&t, sched_setaffinity(0, sizeof before, &before), 0);
    free(cpus);
    return check_finish(&t);
}
