// SPDX-License-Identifier: Apache-2.0
// Prints what the node heap is mapped from, after each rank has heard from its left neighbour.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    int rank = 0, size = 0, heard = -1;
    char line[512];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &heard, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    FILE* maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        const char* place = strchr(line, '/');
        if (place != NULL && strstr(place, "headway-") != NULL && strstr(place, "-heap") != NULL)
            printf("rank %d heard %d: %s", rank, heard, place);
    }
    MPI_Finalize();
    return 0;
}
