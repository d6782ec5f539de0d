// SPDX-License-Identifier: Apache-2.0
// A rank of a job with a core for progress: says in which process it is, how many threads of that
// move messages, where they may run, and where it may itself. With the argument `early` it has a
// second thread before it starts MPI.
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_barrier_t end;

static void* wait_for_end(void* argument)
{
    pthread_barrier_wait(&end);
    return argument;
}

// Whether the thread moves messages: it says so itself when it first runs.
static int moves_messages(const char* thread)
{
    char path[300];
    char name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    FILE* file = fopen(path, "r");
    if (file != NULL) {
        if (fgets(name, sizeof name, file) == NULL)
            name[0] = '\0';
        fclose(file);
    }
    return strcmp(name, "headway-cpu\n") == 0;
}

static void add_cpus(char* text, size_t size, int thread)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(thread, sizeof allowed, &allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &allowed)) {
            const size_t length = strlen(text);
            snprintf(text + length, size - length, "%s%d", length == 0 ? "" : ",", cpu);
        }
    }
}

// How many threads of this process move messages, and on which cpus.
static int count_movers(char* cpus, size_t size)
{
    int count = 0;
    cpus[0] = '\0';
    DIR* folder = opendir("/proc/self/task");
    for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (moves_messages(entry->d_name)) {
            add_cpus(cpus, size, atoi(entry->d_name));
            ++count;
        }
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

int main(int count, char** words)
{
    pthread_t other;
    const int is_early = count > 1 && strcmp(words[1], "early") == 0;
    if (is_early) {
        pthread_barrier_init(&end, NULL, 2);
        pthread_create(&other, NULL, wait_for_end, NULL);
    }
    MPI_Init(&count, &words);
    int rank = 0;
    char theirs[1000] = "";
    char own[1000] = "";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (count_movers(theirs, sizeof theirs) == 0)
        sched_yield();
    MPI_Barrier(MPI_COMM_WORLD);
    const int movers = count_movers(theirs, sizeof theirs);
    add_cpus(own, sizeof own, 0);
    printf("%d %d %d %s %s\n", rank, (int)getpid(), movers, theirs, own);
    MPI_Finalize();
    if (is_early) {
        pthread_barrier_wait(&end);
        pthread_join(other, NULL);
    }
    return 0;
}
