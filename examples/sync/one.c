/* SPDX-License-Identifier: Apache-2.0 */
/* One message between two ranks, and a sync object that tells each of them when its side is done.
 * Further ranks do nothing. */
#include <mpi-ext.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { size_bytes = 10000 };

int main(int argc, char** argv)
{
    static char buffer[size_bytes];
    MPI_Request request;
    MPIX_Sync sync;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank < 2) {
        void* cookie = MPIX_SYNC_EMPTY;
        MPI_Status status;

        MPIX_Sync_init(&sync);
        if (rank == 0) {
            memset(buffer, 1, size_bytes);
            MPI_Isend(buffer, size_bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
        } else {
            MPI_Irecv(buffer, size_bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
        }
        MPIX_Sync_attach(sync, &request, buffer);
        while (cookie == MPIX_SYNC_EMPTY)
            cookie = MPIX_Sync_query(sync, &status);
        if (cookie != buffer || buffer[size_bytes - 1] != 1)
            MPI_Abort(MPI_COMM_WORLD, 1);
        if (rank == 1)
            printf("%d bytes from rank %d\n", size_bytes, status.MPI_SOURCE);
        MPIX_Sync_free(&sync);
    }
    MPI_Finalize();
    return 0;
}
