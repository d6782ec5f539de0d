// SPDX-License-Identifier: Apache-2.0
// device LIBRARY before|after CASE: gives memory of a device, as the driver library has it, to an
// MPI call. The library is loaded before or after MPI_Init.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* library;

static void load(const char* path)
{
    library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        fprintf(stderr, "device: %s\n", dlerror());
        exit(99);
    }
}

static int* memory_of(const char* function)
{
    void* (*allocate)(void);
    *(void**)&allocate = dlsym(library, function);
    return allocate();
}

// Everything that a program may do with other memory while the driver is loaded.
static void use_host_memory(int* buffer, int rank, int size)
{
    int counts[8] = {0}, places[8] = {0}, sum = 0;
    MPI_Request request;
    MPI_Isend(buffer, 2, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(buffer + 2, 2, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, buffer, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoallv(buffer, counts, places, MPI_INT, buffer + 8, counts, places, MPI_INT,
                  MPI_COMM_WORLD);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Bcast(memory_of("fake_allocate"), 0, MPI_INT, 0, MPI_COMM_WORLD);
}

int main(int count, char** arguments)
{
    int rank = 0, size = 0, own[16] = {0};
    int counts[8] = {1, 1, 1, 1, 1, 1, 1, 1}, places[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    MPI_Request request;
    if (count < 4)
        return 98;
    if (strcmp(arguments[2], "before") == 0)
        load(arguments[1]);
    MPI_Init(NULL, NULL);
    if (strcmp(arguments[2], "after") == 0)
        load(arguments[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char* name = arguments[3];
    int* there = memory_of("fake_allocate");
    if (strcmp(name, "send") == 0)
        MPI_Send(there + 5, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (strcmp(name, "long") == 0)
        MPI_Isend(there, 100000, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    if (strcmp(name, "receive") == 0)
        MPI_Irecv(there, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    if (strcmp(name, "reduce") == 0)
        MPI_Allreduce(own, there, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(name, "inplace") == 0)
        MPI_Allreduce(MPI_IN_PLACE, there, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(name, "lists") == 0)
        MPI_Alltoallv(there, counts, places, MPI_INT, own, counts, places, MPI_INT, MPI_COMM_WORLD);
    if (strcmp(name, "host") == 0)
        use_host_memory(own, rank, size);
    if (strcmp(name, "managed") == 0)
        use_host_memory(memory_of("fake_allocate_managed"), rank, size);
    MPI_Finalize();
    printf("went on\n");
    return 0;
}
