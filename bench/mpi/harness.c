// SPDX-License-Identifier: Apache-2.0
#include "harness.h"

#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A sample lasts at least this long, so that the clock's own cost stays below a thousandth.
static const double sample_least_s = 100e-6;
enum { samples_least = 11, samples_of_slow = 3 };
// How long before a common start the ranks are told of it; twice as long after one that came late.
static const double margin_least_us = 20.0;
static const double margin_most_us = 40e3;
enum { together_warm = 4, together_tries = 4 };  // good starts before samples; tries for each
// A library that is slow in a case may take this long there, so that a round ends.
static const double slow_factor = 3.0;  // times the budget
static const double slow_least_s = 0.3;

static int read_cores(const char* text, int cores[harness_cores_max])
{
    int count = 0;
    while (*text != '\0' && count < harness_cores_max) {
        char* end = NULL;
        cores[count++] = (int)strtol(text, &end, 10);
        if (end == text)
            return -1;
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

// Cores this process may run on: returns their number, stores the lowest.
static int allowed_cores(int* lowest)
{
    cpu_set_t allowed;
    *lowest = -1;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 0;
    for (size_t core = CPU_SETSIZE; core-- > 0;) {
        if (CPU_ISSET(core, &allowed))
            *lowest = (int)core;
    }
    return CPU_COUNT(&allowed);
}

static bool is_stated(const Harness* harness, int core)
{
    for (int index = 0; index < harness->core_count; ++index) {
        if (harness->cores[index] == core)
            return true;
    }
    return false;
}

// Judges what all ranks reported as pairs (number of cores, lowest core).
static bool judge_cores(const Harness* harness, const int* pairs, char* why, size_t why_max)
{
    for (int rank = 0; rank < harness->ranks; ++rank) {
        const int count = pairs[2 * rank];
        const int core = pairs[2 * rank + 1];
        if (count != 1) {
            snprintf(why, why_max, "rank %d may run on %d cores", rank, count);
            return false;
        }
        if (!is_stated(harness, core)) {
            snprintf(why, why_max, "rank %d runs on core %d", rank, core);
            return false;
        }
        for (int other = 0; other < rank; ++other) {
            if (pairs[2 * other + 1] != core)
                continue;
            snprintf(why, why_max, "ranks %d and %d share core %d", other, rank, core);
            return false;
        }
    }
    return true;
}

static void print_affinity(const Harness* harness, const int* pairs, bool good, const char* why)
{
    printf("{\"type\": \"affinity\", \"ok\": %s, \"why\": \"%s\", \"cores\": [",
           good ? "true" : "false", why);
    for (int rank = 0; rank < harness->ranks; ++rank) {
        printf("%s%d", rank == 0 ? "" : ", ", pairs[2 * rank + 1]);
    }
    printf("]}\n");
    fflush(stdout);
}

static bool check_affinity(const Harness* harness)
{
    if (harness->core_count == 0)
        return true;
    int mine[2];
    mine[0] = allowed_cores(&mine[1]);
    int* const pairs = malloc(2 * (size_t)harness->ranks * sizeof(int));
    if (pairs == NULL)
        harness_fail(harness, "no memory");
    MPI_Gather(mine, 2, MPI_INT, pairs, 2, MPI_INT, 0, harness->comm);
    int good = 1;
    if (harness->rank == 0) {
        char why[120] = "";
        good = judge_cores(harness, pairs, why, sizeof why);
        print_affinity(harness, pairs, good, why);
    }
    free(pairs);
    MPI_Bcast(&good, 1, MPI_INT, 0, harness->comm);
    return good;
}

static bool read_options(int argc, char** argv, Harness* harness)
{
    for (int index = 1; index < argc; index += 2) {
        const char* const name = argv[index];
        const char* const value = index + 1 < argc ? argv[index + 1] : "";
        if (strcmp(name, "--budget-ms") == 0 && atof(value) > 0.0) {
            harness->budget_s = atof(value) * 1e-3;
        } else if (strcmp(name, "--cases") == 0) {
            harness->cases = value;
        } else if (strcmp(name, "--work") == 0) {
            harness->work = value;
        } else if (strcmp(name, "--threads") == 0 && strcmp(value, "multiple") == 0) {
            continue;  // read before MPI was initialised
        } else if (strcmp(name, "--start") == 0 && strcmp(value, "together") == 0) {
            harness->starts_together = true;
        } else if (strcmp(name, "--calibrate") == 0 && strcmp(value, "only") == 0) {
            harness->calibrates_only = true;
        } else if (strcmp(name, "--cores") == 0 && read_cores(value, harness->cores) > 0) {
            harness->core_count = read_cores(value, harness->cores);
        } else {
            if (harness->rank == 0) {
                fprintf(stderr,
                        "bench: '%s %s' is not understood; options are --budget-ms MILLISECONDS, "
                        "--cases 'A;B', --cores 0,1, --work 'A=N;B=N', --threads multiple, "
                        "--calibrate only, --start together.\n",
                        name, value);
            }
            return false;
        }
    }
    return true;
}

// Returns whether the library gives what the command line asks for.
static bool initialise(int* argc, char*** argv)
{
    bool wants_threads = false;
    for (int index = 1; index < *argc; index += 2)
        wants_threads = wants_threads || strcmp((*argv)[index], "--threads") == 0;
    if (!wants_threads) {
        MPI_Init(argc, argv);
        return true;
    }
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    return provided == MPI_THREAD_MULTIPLE;
}

bool harness_begin(int* argc, char*** argv, Harness* harness)
{
    *harness = (Harness){.budget_s = 0.1};
    const bool has_threads = initialise(argc, argv);
    harness->comm = MPI_COMM_WORLD;
    MPI_Comm_rank(harness->comm, &harness->rank);
    MPI_Comm_size(harness->comm, &harness->ranks);
    if (!read_options(*argc, *argv, harness))
        MPI_Abort(harness->comm, 2);
    if (!has_threads)
        harness_fail(harness, "the library has no MPI_THREAD_MULTIPLE");
    return check_affinity(harness);
}

// What follows `name` in a list whose entries end with ';'; NULL where no entry has that name,
// which ends with one of `ends` or with the list.
static const char* after_name(const char* list, const char* name, const char* ends)
{
    const size_t length = strlen(name);
    while (list != NULL) {
        if (strncmp(list, name, length) == 0 &&
            (list[length] == '\0' || strchr(ends, list[length]) != NULL)) {
            return list + length;
        }
        list = strchr(list, ';');
        if (list != NULL)
            ++list;
    }
    return NULL;
}

bool harness_wants(const Harness* harness, const char* case_name)
{
    return harness->cases == NULL || after_name(harness->cases, case_name, ";") != NULL;
}

long harness_work(const Harness* harness, const char* case_name)
{
    return harness_work_part(harness, case_name, 0);
}

long harness_work_part(const Harness* harness, const char* case_name, int part)
{
    const char* number = after_name(harness->work, case_name, "=");
    if (number == NULL || *number == '\0')
        return 0;
    for (++number; part > 0; --part) {
        number += strcspn(number, ":;");
        if (*number != ':')
            return 0;
        ++number;
    }
    return strtol(number, NULL, 10);
}

double harness_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

double harness_compute(long iterations)
{
    static volatile uint64_t kept = 1;
    const double begin_us = harness_now_us();
    uint64_t state = kept;
    for (long count = 0; count < iterations; ++count)
        state = state * 6364136223846793005u + 1442695040888963407u;
    kept = state;
    return harness_now_us() - begin_us;
}

void harness_size_name(size_t size_bytes, char* name, size_t name_max)
{
    static const char* const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    while (unit < 3 && size_bytes >= 1024 && size_bytes % 1024 == 0) {
        size_bytes /= 1024;
        ++unit;
    }
    snprintf(name, name_max, "%zu %s", size_bytes, units[unit]);
}

// Rank 0's number for all.
static long agree(const Harness* harness, long number)
{
    MPI_Bcast(&number, 1, MPI_LONG, 0, harness->comm);
    return number;
}

static double timed(const Harness* harness, HarnessStep step, void* context, long repeats)
{
    const double begin_s = MPI_Wtime();
    step(context, repeats);
    const double mine_s = MPI_Wtime() - begin_s;
    if (!harness->is_mean)
        return mine_s;
    double sum_s = 0.0;
    MPI_Allreduce(&mine_s, &sum_s, 1, MPI_DOUBLE, MPI_SUM, harness->comm);
    return sum_s / harness->ranks;
}

// The operation once, begun by all at one moment of the clock that they share. Microseconds from
// there to the end of the last rank, the same on all; negative where a rank came too late to it.
static double timed_together(const Harness* harness, HarnessStep step, void* context,
                             double margin_us)
{
    double start_us = harness_now_us() + margin_us;
    MPI_Bcast(&start_us, 1, MPI_DOUBLE, 0, harness->comm);
    const double is_late = harness_now_us() > start_us;
    // Who shares a core must not keep it from a rank that has yet to hear of the start.
    while (harness_now_us() < start_us) {
        if (harness->core_count == 0)
            sched_yield();
    }
    step(context, 1);
    const double mine[2] = {harness_now_us() - start_us, is_late};
    double most[2] = {0.0, 0.0};
    MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, harness->comm);
    return most[1] > 0.0 ? -1.0 : most[0];
}

// How many samples of `each_s` seconds are wanted.
static int choose_count(const Harness* harness, double each_s)
{
    const double wanted = harness->budget_s / each_s;
    return wanted < samples_least         ? samples_least
           : wanted > harness_samples_max ? harness_samples_max
                                          : (int)wanted;
}

static int sample_together(const Harness* harness, HarnessStep step, void* context,
                           double samples_us[harness_samples_max])
{
    double margin_us = margin_least_us;
    double each_us = 0.0;
    int in_time = 0;
    for (int tried = 0; in_time < together_warm && tried < together_warm * 8; ++tried) {
        const double begin_us = harness_now_us();
        const bool is_late = timed_together(harness, step, context, margin_us) < 0.0;
        each_us = harness_now_us() - begin_us;
        in_time = is_late ? 0 : in_time + 1;
        margin_us = is_late ? fmin(2.0 * margin_us, margin_most_us) : margin_us;
    }
    const int wanted = (int)agree(harness, choose_count(harness, each_us * 1e-6));
    int taken = 0;
    for (int tried = 0; taken < wanted && tried < together_tries * wanted; ++tried) {
        const double took_us = timed_together(harness, step, context, margin_us);
        if (took_us >= 0.0)
            samples_us[taken++] = took_us;
    }
    return taken;
}

// Whether a library that began at `begin_s` has used up its time; the same on all ranks. Asked only
// of one that fills its budget with the fewest samples, so that no other gets an extra message.
static bool is_too_slow(const Harness* harness, double begin_s, int taken)
{
    const double limit_s = fmax(slow_least_s, slow_factor * harness->budget_s);
    return taken >= samples_of_slow && agree(harness, MPI_Wtime() - begin_s > limit_s) != 0;
}

int harness_sample(const Harness* harness, HarnessStep step, void* context,
                   double samples_us[harness_samples_max])
{
    const double warm_s = harness->budget_s / 5.0;
    long repeats = 1;
    double each_s = 0.0;
    for (bool is_warm = false; !is_warm;) {
        const double block_s = timed(harness, step, context, repeats);
        each_s = block_s / (double)repeats;
        is_warm = agree(harness, block_s >= warm_s) != 0;
        if (!is_warm)
            repeats *= 2;
    }
    if (harness->starts_together)
        return sample_together(harness, step, context, samples_us);
    const double sample_s = fmax(sample_least_s, harness->budget_s / harness_samples_max);
    repeats = agree(harness, each_s < sample_s ? (long)(sample_s / each_s) + 1 : 1);
    const int count = (int)agree(harness, choose_count(harness, each_s * (double)repeats));
    const double begin_s = MPI_Wtime();
    for (int index = 0; index < count; ++index) {
        if (count == samples_least && is_too_slow(harness, begin_s, index))
            return index;
        samples_us[index] = timed(harness, step, context, repeats) / (double)repeats * 1e6;
    }
    return count;
}

void harness_emit(const Harness* harness, const char* case_name, const char* metric,
                  const char* unit, const double* samples, int count)
{
    if (harness->rank != 0)
        return;
    printf(
        "{\"type\": \"samples\", \"case\": \"%s\", \"metric\": \"%s\", \"unit\": \"%s\", "
        "\"samples\": [",
        case_name, metric, unit);
    for (int index = 0; index < count; ++index) {
        printf("%s%.5g", index == 0 ? "" : ", ", samples[index]);
    }
    printf("]}\n");
    fflush(stdout);
}

void harness_skip(const Harness* harness, const char* case_name, const char* why)
{
    if (harness->rank != 0)
        return;
    printf("{\"type\": \"skipped\", \"case\": \"%s\", \"why\": \"%s\"}\n", case_name, why);
    fflush(stdout);
}

void harness_fail(const Harness* harness, const char* what)
{
    fprintf(stderr, "bench: rank %d: %s\n", harness->rank, what);
    fflush(stderr);
    MPI_Abort(harness->comm, 1);
    abort();
}

int harness_end(Harness* harness)
{
    check_affinity(harness);
    if (harness->rank == 0) {
        printf("{\"type\": \"end\"}\n");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
