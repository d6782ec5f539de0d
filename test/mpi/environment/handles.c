// SPDX-License-Identifier: Apache-2.0
// Handles as integers and back, parts of statuses, addresses, memory and other small calls.
#include "../check.h"

#define BOTH_WAYS(t, type, handle) \
    CHECK((t), MPI_##type##_fromint(MPI_##type##_toint(handle)) == (handle))

static void check_integers(struct check* t)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Info info;
    MPI_Request request;
    int number = 0, given = 1;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Info_create(&info);
    MPI_Irecv(&number, 1, MPI_INT, 0, 1, comm, &request);
    BOTH_WAYS(t, Comm, comm);
    BOTH_WAYS(t, Comm, MPI_COMM_WORLD);
    BOTH_WAYS(t, Group, group);
    BOTH_WAYS(t, Group, MPI_GROUP_EMPTY);
    BOTH_WAYS(t, Type, type);
    BOTH_WAYS(t, Type, MPI_DOUBLE);
    BOTH_WAYS(t, Op, MPI_SUM);
    BOTH_WAYS(t, Info, info);
    BOTH_WAYS(t, Request, request);
    BOTH_WAYS(t, Request, MPI_REQUEST_NULL);
    BOTH_WAYS(t, Errhandler, MPI_ERRORS_RETURN);
    BOTH_WAYS(t, Message, MPI_MESSAGE_NO_PROC);
    BOTH_WAYS(t, Win, MPI_WIN_NULL);
    BOTH_WAYS(t, File, MPI_FILE_NULL);
    // The integer is one of this object: the others differ.
    CHECK(t, MPI_Comm_toint(comm) != MPI_Group_toint(group));
    CHECK(t, MPI_Comm_toint(comm) != MPI_Comm_toint(MPI_COMM_WORLD));
    MPI_Send(&given, 1, MPI_INT, 0, 1, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Info_free(&info);
    MPI_Type_free(&type);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

static void check_statuses(struct check* t)
{
    MPI_Status status;
    int value = 0, elements = 0;
    MPI_Count wide = 0;
    memset(&status, 0, sizeof status);
    CHECK_CALL(t, MPI_Status_set_source(&status, 3));
    CHECK_CALL(t, MPI_Status_set_tag(&status, 4));
    CHECK_CALL(t, MPI_Status_set_error(&status, MPI_ERR_TAG));
    CHECK(t, status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == MPI_ERR_TAG);
    CHECK_CALL(t, MPI_Status_get_source(&status, &value));
    CHECK_INT(t, value, 3);
    CHECK_CALL(t, MPI_Status_get_tag(&status, &value));
    CHECK_INT(t, value, 4);
    CHECK_CALL(t, MPI_Status_get_error(&status, &value));
    CHECK_INT(t, value, MPI_ERR_TAG);
    CHECK_CALL(t, MPI_Status_set_elements_x(&status, MPI_INT, 5));
    CHECK_CALL(t, MPI_Get_elements(&status, MPI_INT, &elements));
    CHECK_CALL(t, MPI_Get_elements_x(&status, MPI_INT, &wide));
    CHECK(t, elements == 5 && wide == 5);
}

static void check_types(struct check* t)
{
    MPI_Datatype type, shifted;
    MPI_Count lower = 0, extent = 0, size = 0;
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_create_resized(type, -4, 40, &shifted);
    CHECK_CALL(t, MPI_Type_size_x(shifted, &size));
    CHECK_INT(t, size, 12);
    CHECK_CALL(t, MPI_Type_get_extent_x(shifted, &lower, &extent));
    CHECK(t, lower == -4 && extent == 40);
    CHECK_CALL(t, MPI_Type_get_true_extent_x(shifted, &lower, &extent));
    CHECK(t, lower == 0 && extent == 12);
    MPI_Type_free(&shifted);
    MPI_Type_free(&type);
    CHECK_CALL(t, MPI_Type_create_f90_complex(6, 30, &type));
    CHECK_CALL(t, MPI_Type_size_x(type, &size));
    CHECK_INT(t, size, 8);
}

static void check_rest(struct check* t)
{
    char bytes[16];
    MPI_Aint first, last;
    MPI_Get_address(&bytes[0], &first);
    MPI_Get_address(&bytes[9], &last);
    CHECK_INT(t, MPI_Aint_diff(last, first), 9);
    CHECK(t, MPI_Aint_add(first, 9) == last);
    void* memory = NULL;
    CHECK_CALL(t, MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory));
    memset(memory, 1, 1000);
    CHECK_CALL(t, MPI_Free_mem(memory));
    int is_commutative = 0, major = 0, minor = -1;
    CHECK_CALL(t, MPI_Op_commutative(MPI_SUM, &is_commutative));
    CHECK_INT(t, is_commutative, 1);
    CHECK_CALL(t, MPI_Abi_get_version(&major, &minor));
    CHECK(t, major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
    CHECK_CALL(t, MPI_Pcontrol(1));
}

static int test_main(void)
{
    struct check t = check_start("handles");
    check_integers(&t);
    check_statuses(&t);
    check_types(&t);
    check_rest(&t);
    return check_finish(&t);
}
