// SPDX-License-Identifier: Apache-2.0
// Impact: what a library that has nothing to do takes from a program that computes.
//
// Every rank starts a second process before MPI_Init, which never uses MPI. Then both do the same
// fixed work in turn, 41 times: the one beside an initialised library, whose threads have all been
// started by messages before, the other without. Metrics, of the worst rank:
//   r_impact    the least time of the first, by the least time of the second
//   switches    context switches of all threads of the first but the one that computes, meanwhile
//   threads_us  run time of the same threads
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

enum { pairs = 41, work_ms = 150, message_bytes = 1048576 };

typedef struct {
    pid_t process;
    int orders;   // iterations to do
    int results;  // microseconds they took
} Companion;

// Of the library's threads.
typedef struct {
    long switches;
    double run_us;
} Usage;

static void serve(int orders, int results)
{
    long iterations = 0;
    while (read(orders, &iterations, sizeof iterations) == sizeof iterations) {
        const double took_us = harness_compute(iterations);
        if (write(results, &took_us, sizeof took_us) != sizeof took_us)
            break;
    }
    _exit(0);
}

static Companion start_companion(void)
{
    int orders[2];
    int results[2];
    if (pipe(orders) != 0 || pipe(results) != 0) {
        perror("pipe");
        exit(1);
    }
    const pid_t process = fork();
    if (process < 0) {
        perror("fork");
        exit(1);
    }
    if (process == 0) {
        close(orders[1]);
        close(results[0]);
        serve(orders[0], results[1]);
    }
    close(orders[0]);
    close(results[1]);
    return (Companion){process, orders[1], results[0]};
}

static double ask(const Companion* companion, long iterations)
{
    double took_us = 0.0;
    if (write(companion->orders, &iterations, sizeof iterations) != sizeof iterations ||
        read(companion->results, &took_us, sizeof took_us) != sizeof took_us) {
        fprintf(stderr, "impact: the process without MPI has ended\n");
        exit(1);
    }
    return took_us;
}

static void add_thread(const char* thread, Usage* usage)
{
    char path[300];
    char line[200];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE* file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        long count = 0;
        if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %ld", &count) == 1)
            usage->switches += count;
    }
    if (file != NULL)
        fclose(file);
    snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", thread);
    file = fopen(path, "r");
    double run_ns = 0.0;
    if (file != NULL && fscanf(file, "%lf", &run_ns) == 1)
        usage->run_us += run_ns * 1e-3;
    if (file != NULL)
        fclose(file);
}

// All threads of this process but the calling one.
static Usage read_usage(void)
{
    Usage usage = {0, 0.0};
    char own[32];
    snprintf(own, sizeof own, "%ld", syscall(SYS_gettid));
    DIR* const folder = opendir("/proc/self/task");
    for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, own) != 0)
            add_thread(entry->d_name, &usage);
    }
    if (folder != NULL)
        closedir(folder);
    return usage;
}

// Messages that need a receiver who computes: whatever thread a library has for them, it is there
// afterwards.
static void start_threads(const Harness* harness, long iterations)
{
    unsigned char* const out = calloc(2, message_bytes);
    if (out == NULL)
        harness_fail(harness, "no memory");
    const int peer = harness->rank ^ 1;
    if (peer < harness->ranks) {
        MPI_Request requests[2];
        MPI_Irecv(out + message_bytes, message_bytes, MPI_BYTE, peer, 0, harness->comm,
                  &requests[0]);
        MPI_Isend(out, message_bytes, MPI_BYTE, peer, 0, harness->comm, &requests[1]);
        harness_compute(iterations);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(harness->comm);
    free(out);
}

static long iterations_of(double wanted_us)
{
    const long probe = 2000000;
    double least_us = harness_compute(probe);
    for (int again = 0; again < 5; ++again) {
        const double took_us = harness_compute(probe);
        least_us = took_us < least_us ? took_us : least_us;
    }
    return (long)(wanted_us / least_us * (double)probe);
}

static void measure(const Harness* harness, const Companion* companion)
{
    const long iterations = iterations_of(work_ms * 1e3);
    start_threads(harness, iterations / 10);
    double beside_us = 1e30;
    double without_us = 1e30;
    Usage used = {0, 0.0};
    for (int pair = 0; pair < pairs; ++pair) {
        const Usage before = read_usage();
        const double mine_us = harness_compute(iterations);
        const Usage after = read_usage();
        used.switches += after.switches - before.switches;
        used.run_us += after.run_us - before.run_us;
        beside_us = mine_us < beside_us ? mine_us : beside_us;
        const double other_us = ask(companion, iterations);
        without_us = other_us < without_us ? other_us : without_us;
    }
    double mine[3] = {beside_us / without_us, (double)used.switches, used.run_us};
    double worst[3];
    MPI_Reduce(mine, worst, 3, MPI_DOUBLE, MPI_MAX, 0, harness->comm);
    harness_emit(harness, "idle", "r_impact", "ratio", &worst[0], 1);
    harness_emit(harness, "idle", "switches", "count", &worst[1], 1);
    harness_emit(harness, "idle", "threads_us", "us", &worst[2], 1);
}

int main(int argc, char** argv)
{
    signal(SIGPIPE, SIG_IGN);
    const Companion companion = start_companion();
    Harness harness;
    if (harness_begin(&argc, &argv, &harness) && harness_wants(&harness, "idle"))
        measure(&harness, &companion);
    close(companion.orders);
    waitpid(companion.process, NULL, 0);
    return harness_end(&harness);
}
