// SPDX-License-Identifier: Apache-2.0
// A profiling tool that leaves room for others: it defines MPI_X and hands each call to the MPI_X
// that comes after its own, be it another tool's or the library's.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef TOOL
#define TOOL "forwarder"
#endif

typedef int (*init_call)(int*, char***);
typedef int (*send_call)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*finalize_call)(void);

static int sends;

static void* find_next(const char* name)
{
    void* const next = dlsym(RTLD_NEXT, name);
    if (next == NULL) {
        fprintf(stderr, TOOL ": nobody after it has %s\n", name);
        abort();
    }
    return next;
}

int MPI_Init(int* argc, char*** argv)
{
    const int code = ((init_call)find_next("MPI_Init"))(argc, argv);
    printf(TOOL ": started\n");
    return code;
}

int MPI_Send(const void* buffer, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    ++sends;
    return ((send_call)find_next("MPI_Send"))(buffer, count, datatype, dest, tag, comm);
}

int MPI_Finalize(void)
{
    printf(TOOL ": %d sends\n", sends);
    fflush(stdout);
    return ((finalize_call)find_next("MPI_Finalize"))();
}
