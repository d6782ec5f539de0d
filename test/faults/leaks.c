// SPDX-License-Identifier: Apache-2.0
// Leaves objects of each kind behind, or frees all of them with the argument "clean"; with
// "session" a session, which keeps its rank from ending.
#include <mpi.h>
#include <string.h>

static void keep_second(void* in, void* inout, int* count, MPI_Datatype* type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void ignore(MPI_Comm* comm, int* code, ...)
{
    (void)comm, (void)code;
}

// Objects that no other one here needs.
static void make_others(int is_clean)
{
    int number = 0, rank = 0;
    MPI_Op op;
    MPI_Op_create(keep_second, 1, &op);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(ignore, &handler);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Request sent;
    MPI_Isend(&number, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &sent);
    MPI_Message message;
    MPI_Mprobe(rank, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    if (is_clean) {
        MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        MPI_Errhandler_free(&handler);
        MPI_Op_free(&op);
    }
}

static void make(int is_clean)
{
    MPI_Comm comms[2];
    const volatile int count = 2;  // one call, whatever the compiler makes of loops
    for (int i = 0; i < count; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Info info;
    MPI_Info_create(&info);
    int number = 0, rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Request requests[2];
    MPI_Irecv(&number, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&number, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &requests[1]);
    // The library keeps it: nobody's leak.
    MPI_Datatype real;
    MPI_Type_create_f90_real(6, 30, &real);
    if (is_clean) {
        MPI_Request_free(&requests[1]);
        MPI_Cancel(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Info_free(&info);
        MPI_Group_free(&group);
        MPI_Type_free(&type);
        MPI_Comm_free(&comms[0]);
        MPI_Comm_free(&comms[1]);
    }
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    const char* const what = argc > 1 ? argv[1] : "all";
    if (strcmp(what, "session") == 0) {
        MPI_Session session;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    } else {
        make(strcmp(what, "clean") == 0);
        make_others(strcmp(what, "clean") == 0);
    }
    MPI_Finalize();
    return 0;
}
