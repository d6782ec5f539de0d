// SPDX-License-Identifier: Apache-2.0
// children CASE [WORD]: each rank makes a child process after MPI_Init, in the way that CASE names,
// waits for its end, and then goes on communicating. What the child says is on standard output.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int is(const char* name, const char* wanted)
{
    return strcmp(name, wanted) == 0;
}

// What the child of a fork does; whatever it is, the job must not notice.
static void be_child(const char* name, const char* word)
{
    int value = 0, flag = -1, done = -1;
    if (is(name, "_exit"))
        _exit(7);
    if (is(name, "exit"))
        exit(7);
    if (is(name, "killed"))
        abort();
    if (is(name, "asks")) {
        MPI_Initialized(&flag);
        MPI_Finalized(&done);
        printf("initialized %d, finalized %d\n", flag, done);
        exit(7);
    }
    if (is(name, "sends"))
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (is(name, "starts"))
        MPI_Init(NULL, NULL);
    if (is(name, "ends"))
        MPI_Finalize();
    if (is(name, "aborts"))
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (is(name, "runs")) {
        execlp("sh", "sh", "-c", word, (char*)NULL);
        _exit(127);
    }
    if (is(name, "stays")) {
        // An orphan: it outlives MPI_Finalize of its parent.
        if (fork() == 0) {
            sleep(1000);
            _exit(0);
        }
        _exit(7);
    }
}

static int run_child(const char* name, const char* word)
{
    if (is(name, "system"))
        return system(word);
    if (is(name, "popen")) {
        char line[256] = "";
        FILE* stream = popen(word, "r");
        if (stream == NULL)
            return -1;
        while (fgets(line, sizeof line, stream) != NULL)
            fputs(line, stdout);
        return pclose(stream);
    }
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        be_child(name, word);
        printf("went on\n");
        exit(9);
    }
    waitpid(child, &status, 0);
    return status;
}

int main(int count, char** arguments)
{
    int rank = 0, size = 0, sum = 0;
    static int block[20000], all[20000];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    setvbuf(stdout, NULL, _IONBF, 0);
    const int status = run_child(count > 1 ? arguments[1] : "", count > 2 ? arguments[2] : "");
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    MPI_Allreduce(&code, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 20000; ++i)
        block[i] = rank + i;
    MPI_Allreduce(block, all, 20000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int wrong = 0;
    for (int i = 0; i < 20000; ++i)
        wrong += all[i] != size * (size - 1) / 2 + size * i;
    if (rank == 0)
        printf("children ended with %d, wrong %d\n", sum, wrong);
    MPI_Finalize();
    return wrong != 0;
}
