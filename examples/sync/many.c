/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand messages between two ranks, each with its own cookie, its number; both sides take up
 * to a hundred events at a time until they have seen them all. Further ranks do nothing. */
#include <mpi-ext.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { messages = 1000, size_bytes = 10000, at_once = 100 };

static void start(MPIX_Sync sync, char* buffers, int rank)
{
    for (int i = 0; i < messages; ++i) {
        char* const buffer = buffers + (size_t)i * size_bytes;
        MPI_Request request;

        if (rank == 0)
            MPI_Isend(buffer, size_bytes, MPI_CHAR, 1, i, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(buffer, size_bytes, MPI_CHAR, 0, i, MPI_COMM_WORLD, &request);
        MPIX_Sync_attach(sync, &request, (void*)(intptr_t)i);
    }
}

/* Returns how many cookies came that had come before. */
static int take_all(MPIX_Sync sync)
{
    static char seen[messages];
    int left = messages, twice = 0;

    while (left > 0) {
        void* cookies[at_once];
        int count = 0;

        MPIX_Sync_query_bulk(at_once, sync, &count, cookies, MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; ++i)
            twice += seen[(intptr_t)cookies[i]]++ != 0;
        left -= count;
    }
    return twice;
}

int main(int argc, char** argv)
{
    MPIX_Sync sync;
    int rank, size, provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank < 2) {
        char* const buffers = calloc(messages, size_bytes);

        MPIX_Sync_init(&sync);
        start(sync, buffers, rank);
        if (take_all(sync) != 0 || MPIX_Sync_size(sync) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPIX_Sync_free(&sync);
        if (rank == 1)
            printf("%d messages, each seen once\n", messages);
        free(buffers);
    }
    MPI_Finalize();
    return 0;
}
