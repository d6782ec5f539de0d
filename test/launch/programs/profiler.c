// SPDX-License-Identifier: Apache-2.0
// A profiling tool as others build them: it defines MPI_X and calls PMPI_X. Preloaded or linked
// before the library, it sees the calls of a program that knows nothing of it.
#include <mpi.h>
#include <stdio.h>

static int sends;
static long bytes;

int MPI_Init(int* argc, char*** argv)
{
    const int code = PMPI_Init(argc, argv);
    int size = 0;
    // Calls of the tool itself are not profiled.
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Barrier(MPI_COMM_WORLD);
    printf("profiler: %d ranks\n", size);
    return code;
}

int MPI_Send(const void* buffer, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    int size = 0;
    PMPI_Type_size(datatype, &size);
    ++sends;
    bytes += (long)count * size;
    return PMPI_Send(buffer, count, datatype, dest, tag, comm);
}

int MPI_Finalize(void)
{
    printf("profiler: %d sends, %ld bytes\n", sends, bytes);
    fflush(stdout);
    return PMPI_Finalize();
}
