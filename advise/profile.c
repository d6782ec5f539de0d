// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { functions_max = 512, open_max = 1 << 16, steps_an_octave = 8, steps = 64 * steps_an_octave };

// Times of some calls, in ns. `by_length` counts them in steps of an eighth of an octave, for the
// first percentile: the least one may be luck.
typedef struct {
    uint64_t calls;
    uint64_t total;
    uint64_t least;
    uint32_t by_length[steps];
} Tally;

typedef struct {
    const char* name;
    uint64_t calls;
    uint64_t total;
    uint64_t least;
} FunctionTally;

// A request between its start and its completion. mpi_ns: time in MPI until it was started.
typedef struct {
    MPI_Request request;
    uint64_t started_ns;
    uint64_t mpi_ns;
} Open;

// Of requests that were completed. window: time outside MPI since the start. wait: time of the
// calls that completed them. hidden: of each the shorter, so what progress could take off the wait.
typedef struct {
    uint64_t count;
    uint64_t window_ns;
    uint64_t wait_ns;
    uint64_t hidden_ns;
    uint64_t without_window;  // those whose wait is longer than twice their window
    uint64_t lost;            // not seen: more were open than there is room for
} Windows;

// One for the process, behind a lock: a profiler of a rank that is a process.
static struct {
    pthread_mutex_t lock;
    bool is_running;
    uint64_t begin_ns;
    uint64_t mpi_ns;  // time in MPI so far
    Tally classes[class_count];
    FunctionTally functions[functions_max];
    int function_count;
    Open open[open_max];  // by the handle's value, with linear search
    int open_count;
    Windows windows;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread int depth;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t profile_enter(void)
{
    return depth++ == 0 ? now_ns() : 0;
}

static int step_of(uint64_t length_ns)
{
    if (length_ns < 2)
        return 0;
    const int octave = 63 - __builtin_clzll(length_ns);
    const uint64_t rest = length_ns - (UINT64_C(1) << octave);
    const int part = (int)(octave >= 3 ? rest >> (octave - 3) : rest << (3 - octave));
    return octave * steps_an_octave + part;
}

static void count(Tally* tally, uint64_t length_ns)
{
    tally->least = tally->calls == 0 || length_ns < tally->least ? length_ns : tally->least;
    ++tally->calls;
    tally->total += length_ns;
    ++tally->by_length[step_of(length_ns)];
}

// Names are literals, so equal ones of a function are one address.
static void count_function(const char* name, uint64_t length_ns)
{
    int index = 0;
    while (index < seen.function_count && seen.functions[index].name != name)
        ++index;
    if (index == functions_max)
        return;
    FunctionTally* const tally = &seen.functions[index];
    if (index == seen.function_count) {
        ++seen.function_count;
        *tally = (FunctionTally){name, 0, 0, UINT64_MAX};
    }
    ++tally->calls;
    tally->total += length_ns;
    tally->least = length_ns < tally->least ? length_ns : tally->least;
}

void profile_leave(CallClass kind, const char* function, uint64_t begin_ns)
{
    if (--depth != 0)
        return;
    const uint64_t length_ns = now_ns() - begin_ns;
    pthread_mutex_lock(&seen.lock);
    if (seen.is_running) {
        seen.mpi_ns += length_ns;
        count(&seen.classes[kind], length_ns);
        count_function(function, length_ns);
    }
    pthread_mutex_unlock(&seen.lock);
}

static int place_of(MPI_Request request)
{
    const uint64_t mixed = (uint64_t)(uintptr_t)request * UINT64_C(0x9e3779b97f4a7c15);
    return (int)(mixed >> 48) & (open_max - 1);
}

void profile_started(MPI_Request request)
{
    if (request == MPI_REQUEST_NULL || depth != 1)
        return;
    pthread_mutex_lock(&seen.lock);
    if (seen.open_count < open_max / 2) {
        int place = place_of(request);
        while (seen.open[place].request != MPI_REQUEST_NULL && seen.open[place].started_ns != 0)
            place = (place + 1) & (open_max - 1);
        seen.open[place] = (Open){request, now_ns(), seen.mpi_ns};
        ++seen.open_count;
    } else {
        ++seen.windows.lost;
    }
    pthread_mutex_unlock(&seen.lock);
}

// Closes the gap that a taken entry leaves, so that searches may end at a free place.
static void take_out(int place)
{
    seen.open[place].started_ns = 0;
    --seen.open_count;
    for (int next = (place + 1) & (open_max - 1); seen.open[next].started_ns != 0;
         next = (next + 1) & (open_max - 1)) {
        const int home = place_of(seen.open[next].request);
        if (((next - home) & (open_max - 1)) >= ((next - place) & (open_max - 1))) {
            seen.open[place] = seen.open[next];
            seen.open[next].started_ns = 0;
            place = next;
        }
    }
}

void profile_completed(MPI_Request request, uint64_t begin_ns, int count_of_call)
{
    if (request == MPI_REQUEST_NULL || depth != 1)
        return;
    const uint64_t end_ns = now_ns();
    pthread_mutex_lock(&seen.lock);
    int place = place_of(request);
    while (seen.open[place].started_ns != 0 && seen.open[place].request != request)
        place = (place + 1) & (open_max - 1);
    const Open open = seen.open[place];
    if (open.started_ns != 0) {
        take_out(place);
        // The call that started it ends a little later than it is noted here.
        const uint64_t in_mpi = seen.mpi_ns - open.mpi_ns;
        const uint64_t since = begin_ns - open.started_ns;
        const uint64_t window = since > in_mpi ? since - in_mpi : 0;
        const uint64_t wait =
            (end_ns - begin_ns) / (uint64_t)(count_of_call > 0 ? count_of_call : 1);
        ++seen.windows.count;
        seen.windows.window_ns += window;
        seen.windows.wait_ns += wait;
        seen.windows.hidden_ns += window < wait ? window : wait;
        seen.windows.without_window += wait > 2 * window ? 1 : 0;
    }
    pthread_mutex_unlock(&seen.lock);
}

void profile_begin(void)
{
    pthread_mutex_lock(&seen.lock);
    seen.is_running = true;
    seen.begin_ns = now_ns();
    pthread_mutex_unlock(&seen.lock);
}

// The middle of the step in which the first percentile lies.
static double first_percentile_s(const Tally* tally)
{
    uint64_t below = 0;
    for (int step = 0; step < steps; ++step) {
        below += tally->by_length[step];
        if (below * 100 >= tally->calls && below != 0) {
            const double octave = (double)(UINT64_C(1) << (step / steps_an_octave));
            return octave * (1.0 + (step % steps_an_octave + 0.5) / steps_an_octave) * 1e-9;
        }
    }
    return 0.0;
}

static void print_classes(FILE* file)
{
    static const char* const names[class_count] = {"blocking", "nonblocking", "test", "wait",
                                                   "other"};
    for (int kind = 0; kind < class_count; ++kind) {
        const Tally* const tally = &seen.classes[kind];
        fprintf(file,
                "%s\"%s\": {\"calls\": %llu, \"total_s\": %.9f, \"min_s\": %.9f, "
                "\"percentile_s\": %.9f}",
                kind == 0 ? "" : ", ", names[kind], (unsigned long long)tally->calls,
                (double)tally->total * 1e-9, (double)tally->least * 1e-9,
                first_percentile_s(tally));
    }
}

static void print_functions(FILE* file)
{
    for (int index = 0; index < seen.function_count; ++index) {
        const FunctionTally* const tally = &seen.functions[index];
        fprintf(file, "%s\"%s\": {\"calls\": %llu, \"total_s\": %.9f, \"min_s\": %.9f}",
                index == 0 ? "" : ", ", tally->name, (unsigned long long)tally->calls,
                (double)tally->total * 1e-9, (double)tally->least * 1e-9);
    }
}

static int cpus(void)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

void profile_end(void)
{
    const uint64_t end_ns = now_ns();
    const char* const folder = getenv("HEADWAY_ADVISE_DIR");
    int rank = 0;
    int ranks = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char path[4200];
    snprintf(path, sizeof path, "%.4096s/rank-%d.json", folder == NULL ? "." : folder, rank);
    FILE* const file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr,
                "headway advise: rank %d cannot write %s; give a folder that all ranks can "
                "write to\n",
                rank, path);
        return;
    }
    pthread_mutex_lock(&seen.lock);
    seen.is_running = false;
    fprintf(file, "{\"rank\": %d, \"ranks\": %d, \"cpus\": %d, \"wall_s\": %.9f, \"classes\": {",
            rank, ranks, cpus(), (double)(end_ns - seen.begin_ns) * 1e-9);
    print_classes(file);
    fprintf(file, "}, \"functions\": {");
    print_functions(file);
    const Windows* const windows = &seen.windows;
    fprintf(file,
            "}, \"requests\": {\"count\": %llu, \"window_s\": %.9f, \"wait_s\": %.9f, "
            "\"hidden_s\": %.9f, \"without_window\": %llu, \"lost\": %llu}}\n",
            (unsigned long long)windows->count, (double)windows->window_ns * 1e-9,
            (double)windows->wait_ns * 1e-9, (double)windows->hidden_ns * 1e-9,
            (unsigned long long)windows->without_window, (unsigned long long)windows->lost);
    pthread_mutex_unlock(&seen.lock);
    fclose(file);
}
