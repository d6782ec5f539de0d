// SPDX-License-Identifier: Apache-2.0
// A grid of 2 x 4 whose ranks may change their number.
#include <mpi.h>
#include <stddef.h>

int main(void)
{
    const int dims[] = {2, 4};
    const int periods[] = {0, 0};
    MPI_Comm grid;
    MPI_Init(NULL, NULL);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
