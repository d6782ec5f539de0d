// SPDX-License-Identifier: Apache-2.0
// Leaves objects of each kind behind, or frees all of them with the argument "clean".
#include <mpi.h>
#include <string.h>

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
    make(argc > 1 && strcmp(argv[1], "clean") == 0);
    MPI_Finalize();
    return 0;
}
