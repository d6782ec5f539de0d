// SPDX-License-Identifier: Apache-2.0
// Rank 0 is outside of MPI until somebody has opened and closed the pipe that the first argument
// names; the others wait for its messages meanwhile, with a second argument in two threads each.
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void* receive(void* tag)
{
    int number = -1;
    MPI_Recv(&number, 1, MPI_INT, 0, *(int*)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (number != *(int*)tag)
        abort();
    return NULL;
}

int main(int argc, char** argv)
{
    int rank, size, provided, tags[] = {7, 8};
    const int threads = argc > 2 ? 2 : 1;
    MPI_Init_thread(&argc, &argv, threads == 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        char byte;
        const int pipe = open(argv[1], O_RDONLY);
        if (pipe < 0 || read(pipe, &byte, 1) != 0)
            abort();
        for (int other = 1; other < size; ++other)
            for (int i = 0; i < threads; ++i)
                MPI_Send(&tags[i], 1, MPI_INT, other, tags[i], MPI_COMM_WORLD);
    } else {
        pthread_t beside;
        if (threads == 2 && pthread_create(&beside, NULL, receive, &tags[1]) != 0)
            abort();
        receive(&tags[0]);
        if (threads == 2)
            pthread_join(beside, NULL);
    }
    MPI_Finalize();
    printf("went on\n");
    return 0;
}
