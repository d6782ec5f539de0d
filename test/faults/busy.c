// SPDX-License-Identifier: Apache-2.0
// busy [talk]: says its process id, then exchanges messages with all ranks until it is ended; with
// "talk" it goes on printing.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** arguments)
{
    const int talks = count > 1 && strcmp(arguments[1], "talk") == 0;
    static char block[40000];
    MPI_Init(NULL, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("busy %d\n", (int)getpid());
    fflush(stdout);
    for (;;) {
        MPI_Allreduce(MPI_IN_PLACE, block, sizeof block, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
        if (talks) {
            printf("busy still\n");
            fflush(stdout);
        }
    }
}
