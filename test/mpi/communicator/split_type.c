// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_split_type: the ranks of a host share memory, no other resource is known.
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

static void resources(struct check* t)
{
    const struct neighbors here = find_neighbors(t);
    const int guided[] = {MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED};
    MPI_Info info;
    CHECK_CALL(t, MPI_Info_create(&info));
    gives_null(t, MPI_COMM_TYPE_HW_UNGUIDED, MPI_INFO_NULL);
    for (int i = 0; i < 2; ++i) {
        MPI_Comm part;
        int size = 0;
        gives_null(t, guided[i], MPI_INFO_NULL);
        gives_null(t, guided[i], info);
        CHECK_CALL(t, MPI_Info_set(info, "mpi_hw_resource_type", "no such thing"));
        gives_null(t, guided[i], info);
        CHECK_CALL(t, MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
        CHECK_CALL(t, MPI_Comm_split_type(MPI_COMM_WORLD, guided[i], 0, info, &part));
        CHECK_CALL(t, MPI_Comm_size(part, &size));
        CHECK_INT(t, size, here.count);
        CHECK_CALL(t, MPI_Comm_free(&part));
        CHECK_CALL(t, MPI_Info_delete(info, "mpi_hw_resource_type"));
    }
    CHECK_CALL(t, MPI_Info_free(&info));
}

static int test_main(void)
{
    struct check t = check_start("split_type");
    MPI_Comm part;
    shared(&t);
    some_stay_out(&t);
    resources(&t);
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    REFUSED(&t, MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &part), MPI_ERR_ARG);
    return check_finish(&t);
}
