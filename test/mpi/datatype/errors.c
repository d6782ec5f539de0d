// SPDX-License-Identifier: Apache-2.0
// What cannot be used is refused with the class of the standard: types that are not committed, were
// freed or never were, predefined ones that would have to change, amounts without sense.
#include "../check.h"

static MPI_Datatype made(struct check* t, int is_committed)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    CHECK_CALL(t, MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    if (is_committed)
        CHECK_CALL(t, MPI_Type_commit(&type));
    return type;
}

static void not_committed(struct check* t)
{
    int memory[8] = {0}, position = 0, size = 0;
    MPI_Datatype type = made(t, 0), same = MPI_DATATYPE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    REFUSED(t, MPI_Send(memory, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    REFUSED(t, MPI_Irecv(memory, 1, type, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
    REFUSED(t, MPI_Bcast(memory, 1, type, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    REFUSED(t, MPI_Pack(memory, 1, type, memory, 8, &position, MPI_COMM_SELF), MPI_ERR_TYPE);
    CHECK(t, request == MPI_REQUEST_NULL);
    // Questions and constructors take it, and a duplicate of it is not committed either.
    CHECK_CALL(t, MPI_Type_size(type, &size));
    CHECK_INT(t, size, 8);
    CHECK_CALL(t, MPI_Type_dup(type, &same));
    REFUSED(t, MPI_Send(memory, 1, same, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK_CALL(t, MPI_Type_commit(&same));
    CHECK_CALL(t, MPI_Type_commit(&same));
    CHECK_CALL(t, MPI_Send(memory, 1, same, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    CHECK_CALL(t, MPI_Type_free(&same));
    CHECK_CALL(t, MPI_Type_free(&type));
}

static void freed(struct check* t)
{
    int memory[4] = {0}, size = 0;
    MPI_Datatype type = made(t, 1), old = type, next = MPI_DATATYPE_NULL;
    CHECK_CALL(t, MPI_Type_free(&type));
    CHECK(t, type == MPI_DATATYPE_NULL);
    REFUSED(t, MPI_Send(memory, 1, old, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    REFUSED(t, MPI_Type_size(old, &size), MPI_ERR_TYPE);
    REFUSED(t, MPI_Type_contiguous(2, old, &next), MPI_ERR_TYPE);
    REFUSED(t, MPI_Type_commit(&old), MPI_ERR_TYPE);
    REFUSED(t, MPI_Type_free(&old), MPI_ERR_TYPE);
}

static void none_and_predefined(struct check* t)
{
    MPI_Datatype null = MPI_DATATYPE_NULL, named = MPI_INT, next = MPI_DATATYPE_NULL;
    const MPI_Datatype types[] = {MPI_INT, MPI_DATATYPE_NULL};
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, 8};
    int integers[2];
    MPI_Aint addresses[2];
    REFUSED(t, MPI_Type_free(&null), MPI_ERR_TYPE);
    REFUSED(t, MPI_Type_free(&named), MPI_ERR_TYPE);
    REFUSED(t, MPI_Type_commit(&null), MPI_ERR_TYPE);
    CHECK_CALL(t, MPI_Type_commit(&named));
    CHECK(t, named == MPI_INT);
    REFUSED(t, MPI_Type_dup(MPI_DATATYPE_NULL, &next), MPI_ERR_TYPE);
    REFUSED(t, MPI_Type_create_struct(2, lengths, places, types, &next), MPI_ERR_TYPE);
    REFUSED(t, MPI_Type_get_contents(MPI_INT, 2, 2, 1, integers, addresses, &next), MPI_ERR_TYPE,
            MPI_ERR_ARG);
    CHECK(t, next == MPI_DATATYPE_NULL);
}

static void amounts(struct check* t)
{
    const int lengths[] = {1, -1}, places[] = {0, 4};
    const MPI_Count far[] = {(MPI_Count)1 << 62}, one[] = {1};
    int integers[1], memory[4] = {0}, position = 6;
    MPI_Aint addresses[1];
    MPI_Datatype next = MPI_DATATYPE_NULL, type = made(t, 1), inner = MPI_DATATYPE_NULL;
    REFUSED(t, MPI_Type_contiguous(-1, MPI_INT, &next), MPI_ERR_COUNT);
    REFUSED(t, MPI_Type_indexed(2, lengths, places, MPI_INT, &next), MPI_ERR_COUNT, MPI_ERR_ARG);
    REFUSED(t, MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
    REFUSED(t, MPI_Type_get_contents(type, 1, 1, 1, integers, addresses, &inner), MPI_ERR_ARG,
            MPI_ERR_OTHER);
    if (!t->lenient) {  // others count on without a word
        REFUSED(t, MPI_Pack(memory, 1, MPI_INT, memory, 8, &position, MPI_COMM_SELF),
                MPI_ERR_TRUNCATE);
        CHECK_INT(t, position, 6);
        REFUSED(t, MPI_Type_contiguous_c((MPI_Count)1 << 62, MPI_INT, &next), MPI_ERR_ARG);
        REFUSED(t, MPI_Type_indexed_c(1, one, far, MPI_INT, &next), MPI_ERR_ARG);
        REFUSED(t, MPI_Type_vector_c(3, 1, (MPI_Count)1 << 61, MPI_INT, &next), MPI_ERR_ARG);
    }
    CHECK(t, next == MPI_DATATYPE_NULL);
    CHECK_CALL(t, MPI_Type_free(&type));
}

// Predefined operators know predefined types only.
static void operators(struct check* t)
{
    int in[4] = {0}, out[4] = {0};
    MPI_Datatype type = made(t, 1);
    REFUSED(t, MPI_Allreduce(in, out, 1, type, MPI_SUM, MPI_COMM_SELF), MPI_ERR_OP, MPI_ERR_TYPE);
    REFUSED(t, MPI_Reduce_local(in, out, 1, type, MPI_MAX), MPI_ERR_OP, MPI_ERR_TYPE);
    CHECK_CALL(t, MPI_Type_free(&type));
}

// The size of a large type does not fit an int; its extent fits an address.
static void large(struct check* t)
{
    MPI_Datatype gigabyte = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    int size = 0;
    MPI_Count size_c = 0;
    MPI_Aint lb = -1, extent = -1;
    CHECK_CALL(t, MPI_Type_contiguous(1 << 30, MPI_BYTE, &gigabyte));
    CHECK_CALL(t, MPI_Type_contiguous(6, gigabyte, &type));
    CHECK_CALL(t, MPI_Type_size(type, &size));
    CHECK_INT(t, size, MPI_UNDEFINED);
    CHECK_CALL(t, MPI_Type_size_c(type, &size_c));
    CHECK_INT(t, size_c, (MPI_Count)6 << 30);
    CHECK_CALL(t, MPI_Type_get_extent(type, &lb, &extent));
    CHECK_INT(t, extent, (MPI_Aint)6 << 30);
    CHECK_CALL(t, MPI_Type_free(&gigabyte));
    CHECK_CALL(t, MPI_Type_free(&type));
}

static int test_main(void)
{
    struct check t = check_start("datatype/errors");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!t.lenient) {
        not_committed(&t);
        operators(&t);
    }
    if (!t.skip_garbage)
        freed(&t);
    none_and_predefined(&t);
    amounts(&t);
    large(&t);
    return check_finish(&t);
}
