// SPDX-License-Identifier: Apache-2.0
// Names beside the ABI's (mpi-beyond-abi.h): Fortran's handles and statuses, and the functions that
// MPI-3.0 removed, against their successors. Of any library of the ABI, whose mpi.h may not include
// that header.
#include "../check.h"

#include "../../../include/mpi-beyond-abi.h"

#define BOTH_WAYS(t, type, handle)                             \
    do {                                                       \
        const MPI_Fint number_ = MPI_##type##_c2f(handle);     \
        CHECK_INT(t, number_, MPI_##type##_toint(handle));     \
        CHECK((t), MPI_##type##_f2c(number_) == (handle));     \
        CHECK_INT(t, PMPI_##type##_c2f(handle), (int)number_); \
        CHECK((t), PMPI_##type##_f2c(number_) == (handle));    \
    } while (0)

static void check_handles(struct check* t)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Info info;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Info_create(&info);
    BOTH_WAYS(t, Comm, comm);
    BOTH_WAYS(t, Comm, MPI_COMM_WORLD);
    BOTH_WAYS(t, Group, group);
    BOTH_WAYS(t, Info, info);
    BOTH_WAYS(t, Type, MPI_DOUBLE);
    BOTH_WAYS(t, Op, MPI_SUM);
    BOTH_WAYS(t, Request, MPI_REQUEST_NULL);
    BOTH_WAYS(t, Errhandler, MPI_ERRORS_RETURN);
    BOTH_WAYS(t, Message, MPI_MESSAGE_NO_PROC);
    BOTH_WAYS(t, Session, MPI_SESSION_NULL);
    BOTH_WAYS(t, Win, MPI_WIN_NULL);
    BOTH_WAYS(t, File, MPI_FILE_NULL);
    MPI_Info_free(&info);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

static void check_statuses(struct check* t)
{
    const int sent[3] = {1, 2, 3};
    int got[3];
    MPI_Status status, back;
    MPI_Fint array[MPI_F_STATUS_SIZE], again[MPI_F_STATUS_SIZE];
    MPI_F08_status f08;
    int elements = 0, cancelled = 1;
    MPI_Sendrecv(sent, 3, MPI_INT, 0, 5, got, 3, MPI_INT, 0, 5, MPI_COMM_SELF, &status);
    CHECK_CALL(t, MPI_Status_c2f(&status, array));
    CHECK_INT(t, array[MPI_F_SOURCE], 0);
    CHECK_INT(t, array[MPI_F_TAG], 5);
    CHECK_INT(t, array[MPI_F_ERROR], status.MPI_ERROR);
    memset(&back, 0x5a, sizeof back);
    CHECK_CALL(t, MPI_Status_f2c(array, &back));
    CHECK(t, memcmp(&back, &status, sizeof back) == 0);
    CHECK_CALL(t, MPI_Status_c2f08(&status, &f08));
    CHECK_INT(t, f08.MPI_TAG, 5);
    CHECK_CALL(t, MPI_Status_f082f(&f08, again));
    CHECK(t, memcmp(again, array, sizeof again) == 0);
    memset(&back, 0x5a, sizeof back);
    CHECK_CALL(t, MPI_Status_f082c(&f08, &back));
    CHECK_CALL(t, MPI_Get_count(&back, MPI_INT, &elements));
    CHECK_INT(t, elements, 3);
    CHECK_CALL(t, MPI_Test_cancelled(&back, &cancelled));
    CHECK_INT(t, cancelled, 0);
}

static void check_extents(struct check* t)
{
    int lengths[2] = {1, 2};
    MPI_Aint places[2] = {8, 16};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype made;
    MPI_Aint lb = 0, ub = 0, extent = 0, first = 0, second = 0;
    int bytes = 0;
    double pair[2];
    CHECK_CALL(t, MPI_Type_struct(2, lengths, places, types, &made));
    CHECK_CALL(t, MPI_Type_lb(made, &lb));
    CHECK_CALL(t, MPI_Type_ub(made, &ub));
    CHECK_CALL(t, MPI_Type_extent(made, &extent));
    CHECK_INT(t, lb, 8);
    CHECK_INT(t, ub, 32);
    CHECK_INT(t, extent, 24);
    MPI_Type_free(&made);
    CHECK_CALL(t, MPI_Type_hindexed(2, lengths, places, MPI_INT, &made));
    MPI_Type_size(made, &bytes);
    CHECK_CALL(t, MPI_Type_extent(made, &extent));
    CHECK_INT(t, bytes, 3 * (int)sizeof(int));
    CHECK_INT(t, extent, 16);
    MPI_Type_free(&made);
    CHECK_CALL(t, MPI_Type_hvector(3, 1, 40, MPI_DOUBLE, &made));
    CHECK_CALL(t, MPI_Type_extent(made, &extent));
    CHECK_INT(t, extent, 88);
    MPI_Type_free(&made);
    CHECK_CALL(t, MPI_Address(&pair[0], &first));
    CHECK_CALL(t, MPI_Address(&pair[1], &second));
    CHECK_INT(t, MPI_Aint_diff(second, first), (int)sizeof(double));
}

// What it was called for is noted where this rank alone looks.
static void note_error(MPI_Comm* comm, int* code, ...)
{
    MPI_Comm_set_name(*comm, *code != MPI_SUCCESS ? "failed" : "called for nothing");
}

static void check_error_handlers(struct check* t)
{
    MPI_Handler_function* const function = note_error;
    MPI_Errhandler handler, found;
    MPI_Comm comm;
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    CHECK_CALL(t, MPI_Errhandler_create(function, &handler));
    CHECK_CALL(t, MPI_Errhandler_set(comm, handler));
    CHECK_CALL(t, MPI_Errhandler_get(comm, &found));
    CHECK(t, found == handler);
    CHECK_CALL(t, MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    MPI_Comm_get_name(comm, name, &length);
    CHECK(t, strcmp(name, "failed") == 0);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

static int test_main(void)
{
    struct check t = check_start("older_names");
    check_handles(&t);
    check_statuses(&t);
    check_extents(&t);
    check_error_handlers(&t);
    return check_finish(&t);
}
