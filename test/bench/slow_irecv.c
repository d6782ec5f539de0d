// SPDX-License-Identifier: Apache-2.0
// A library whose MPI_Irecv takes 40 us, as one does on a slow or busy machine; to preload.
#include <mpi.h>

int MPI_Irecv(void* buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request* request)
{
    const double begin_s = PMPI_Wtime();
    while (PMPI_Wtime() < begin_s + 40e-6) {
    }
    return PMPI_Irecv(buffer, count, datatype, source, tag, comm, request);
}
