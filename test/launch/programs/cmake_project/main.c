// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <stdio.h>

int main(int argument_count, char** arguments)
{
    MPI_Init(&argument_count, &arguments);
    int major = 0;
    int minor = 0;
    MPI_Get_version(&major, &minor);
    printf("MPI %d.%d\n", major, minor);
    MPI_Finalize();
    return 0;
}
