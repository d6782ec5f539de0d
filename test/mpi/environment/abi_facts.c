// SPDX-License-Identifier: Apache-2.0
// What the ABI says of itself and keeps for a Fortran layer.
#include "../check.h"

static void has_size(struct check* t, MPI_Info info, const char* key, size_t size_bytes)
{
    char value[16] = "";
    int length = sizeof value, flag = 0;
    CHECK_CALL(t, MPI_Info_get_string(info, key, &length, value, &flag));
    CHECK_INT(t, flag, 1);
    CHECK_INT(t, atol(value), size_bytes);
}

// Each type of resource that is listed says whether the rank is bound to one, and divides a
// communicator; one that is not listed gives no communicator.
static void check_resources(struct check* t, MPI_Info info)
{
    int types = -1, flag = 0;
    CHECK_CALL(t, MPI_Info_get_nkeys(info, &types));
    CHECK(t, types >= 0);
    for (int i = 0; i <= types; ++i) {
        char type[MPI_MAX_INFO_KEY] = "none://such_resource", value[8] = "";
        int room = sizeof value;
        MPI_Comm part = MPI_COMM_WORLD;
        MPI_Info wanted;
        if (i < types) {
            CHECK_CALL(t, MPI_Info_get_nthkey(info, i, type));
            CHECK_CALL(t, MPI_Info_get_string(info, type, &room, value, &flag));
            CHECK(t, strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
        }
        CHECK_CALL(t, MPI_Info_create(&wanted));
        CHECK_CALL(t, MPI_Info_set(wanted, "mpi_hw_resource_type", type));
        CHECK_CALL(t,
                   MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, wanted, &part));
        CHECK_INT(t, part == MPI_COMM_NULL, i == types || strcmp(value, "false") == 0);
        if (part != MPI_COMM_NULL)
            CHECK_CALL(t, MPI_Comm_free(&part));
        CHECK_CALL(t, MPI_Info_free(&wanted));
    }
    // It is the caller's own: what he changes there is not found the next time.
    MPI_Info again;
    CHECK_CALL(t, MPI_Info_set(info, "own", "entry"));
    CHECK_CALL(t, MPI_Get_hw_resource_info(&again));
    CHECK_CALL(t, MPI_Info_get_nkeys(again, &flag));
    CHECK_INT(t, flag, types);
    CHECK_CALL(t, MPI_Info_free(&again));
}

static int test_main(void)
{
    struct check t = check_start("abi_facts");
    MPI_Info info, fortran;
    int is_set = 1;
    int yes = -1, no = 0, got_yes = 0, got_no = 1;
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_CALL(&t, MPI_Abi_get_info(&info));
    has_size(&t, info, "mpi_aint_size", sizeof(MPI_Aint));
    has_size(&t, info, "mpi_count_size", sizeof(MPI_Count));
    has_size(&t, info, "mpi_offset_size", sizeof(MPI_Offset));
    CHECK_CALL(&t, MPI_Abi_get_fortran_info(&fortran));
    CHECK(&t, fortran == MPI_INFO_NULL);
    CHECK_CALL(&t, MPI_Info_set(info, "mpi_logical_size", "4"));
    CHECK_CALL(&t, MPI_Abi_set_fortran_info(info));
    REFUSED(&t, MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
    CHECK_CALL(&t, MPI_Info_free(&info));
    CHECK_CALL(&t, MPI_Abi_get_fortran_info(&fortran));
    has_size(&t, fortran, "mpi_logical_size", 4);
    CHECK_CALL(&t, MPI_Info_free(&fortran));

    CHECK_CALL(&t, MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &is_set));
    CHECK_INT(&t, is_set, 0);
    CHECK_CALL(&t, MPI_Abi_set_fortran_booleans(4, &yes, &no));
    CHECK_CALL(&t, MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &is_set));
    CHECK_INT(&t, is_set, 1);
    CHECK_INT(&t, got_yes, -1);
    CHECK_INT(&t, got_no, 0);
    REFUSED(&t, MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI);
    REFUSED(&t, MPI_Abi_set_fortran_booleans(3, &yes, &no), MPI_ERR_ARG);

    CHECK_CALL(&t, MPI_Get_hw_resource_info(&info));
    CHECK(&t, info != MPI_INFO_NULL);
    check_resources(&t, info);
    CHECK_CALL(&t, MPI_Info_free(&info));
    return check_finish(&t);
}
