// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nbc_parts.h"

// Round trips of a calibration: as many as its time holds, within these.
enum { trips_least = 10, trips_most = 2000 };
static const double calibration_most_us = 200e3;

// The first and the later fix of a start to come lie so far apart, so that an error of a fix grows
// by a fifth at most until the start.
static const double apart_least_us = 1e6;

static const double margin_least_us = 60.0;

// The clock that skewed ones are read off.
static double true_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

double nbc_clock_now_us(const NbcClock* clock)
{
    const double now_us = true_us();
    return now_us + clock->skew_us + clock->skew_drift * (now_us - clock->start_us);
}

// NBC_SKEW="RANK=OFFSET_US,DRIFT_PPM": what a clock of another node would show.
static bool read_skew(const Harness* harness, NbcClock* clock)
{
    const char* const text = getenv("NBC_SKEW");
    if (text == NULL)
        return false;
    int rank = 0;
    double offset_us = 0.0;
    double drift_ppm = 0.0;
    if (sscanf(text, "%d=%lf,%lf", &rank, &offset_us, &drift_ppm) != 3)
        harness_fail(harness, "NBC_SKEW needs RANK=OFFSET_US,DRIFT_PPM");
    if (rank == harness->rank) {
        clock->skew_us = offset_us;
        clock->skew_drift = drift_ppm * 1e-6;
    }
    return true;
}

// NBC_LATE="RANK=LATE_US,EVERY": a rank that is kept from its core at every EVERY-th start.
static void read_lateness(const Harness* harness, NbcClock* clock)
{
    const char* const text = getenv("NBC_LATE");
    if (text == NULL)
        return;
    int rank = 0;
    double late_us = 0.0;
    long every = 0;
    if (sscanf(text, "%d=%lf,%ld", &rank, &late_us, &every) != 3 || every < 2)
        harness_fail(harness, "NBC_LATE needs RANK=LATE_US,EVERY, where EVERY is 2 at least");
    if (rank == harness->rank) {
        clock->late_us = late_us;
        clock->late_every = every;
    }
}

static bool shares_cores(const NbcClock* clock)
{
    cpu_set_t mine;
    CPU_ZERO(&mine);
    unsigned char cpus[CPU_SETSIZE];
    unsigned char all[CPU_SETSIZE];
    sched_getaffinity(0, sizeof mine, &mine);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        cpus[cpu] = CPU_ISSET(cpu, &mine) ? 1 : 0;
    MPI_Allreduce(cpus, all, CPU_SETSIZE, MPI_UNSIGNED_CHAR, MPI_MAX, clock->node);
    int count = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        count += all[cpu];
    int ranks = 0;
    MPI_Comm_size(clock->node, &ranks);
    return count < ranks * nbc_work_threads();
}

// What a leading rank knows of its clock beside that of rank 0, which answers.
static NbcFix ask(const NbcClock* clock, int with)
{
    NbcFix fix = {0.0, 0.0, 0.0};
    double least_us = INFINITY;
    const double begin_us = true_us();
    for (int trip = 0; trip < trips_most; ++trip) {
        double answer_us = 0.0;
        double is_last = trip + 1 == trips_most ||
                         (trip + 1 >= trips_least && true_us() - begin_us > calibration_most_us);
        const double asked_us = nbc_clock_now_us(clock);
        MPI_Send(&is_last, 1, MPI_DOUBLE, with, 1, clock->leads);
        MPI_Recv(&answer_us, 1, MPI_DOUBLE, with, 1, clock->leads, MPI_STATUS_IGNORE);
        const double answered_us = nbc_clock_now_us(clock);
        if (answered_us - asked_us < least_us) {
            least_us = answered_us - asked_us;
            fix.at = (asked_us + answered_us) / 2.0;
            fix.offset = answer_us - fix.at;
            fix.latency = least_us / 2.0;
        }
        if (is_last > 0.0)
            break;
    }
    return fix;
}

static void answer(const NbcClock* clock, int whom)
{
    for (double is_last = 0.0; is_last == 0.0;) {
        MPI_Recv(&is_last, 1, MPI_DOUBLE, whom, 1, clock->leads, MPI_STATUS_IGNORE);
        double now_us = nbc_clock_now_us(clock);
        MPI_Send(&now_us, 1, MPI_DOUBLE, whom, 1, clock->leads);
    }
}

static NbcFix calibrate(const NbcClock* clock)
{
    NbcFix fix = {nbc_clock_now_us(clock), 0.0, 0.0};
    if (clock->leads != MPI_COMM_NULL) {
        int rank = 0;
        MPI_Comm_rank(clock->leads, &rank);
        for (int other = 1; other < clock->nodes; ++other) {
            if (rank == 0)
                answer(clock, other);
            else if (rank == other)
                fix = ask(clock, 0);
        }
    }
    MPI_Bcast(&fix, 3, MPI_DOUBLE, 0, clock->node);
    return fix;
}

void nbc_clock_open(const Harness* harness, NbcClock* clock)
{
    memset(clock, 0, sizeof *clock);
    const bool is_skewed = read_skew(harness, clock);
    read_lateness(harness, clock);
    MPI_Comm_split_type(harness->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &clock->node);
    clock->shares_cores = shares_cores(clock);
    if (is_skewed) {
        MPI_Comm_free(&clock->node);
        MPI_Comm_split(harness->comm, harness->rank, 0, &clock->node);
    }
    int in_node = 0;
    MPI_Comm_rank(clock->node, &in_node);
    MPI_Comm_split(harness->comm, in_node == 0 ? 0 : MPI_UNDEFINED, 0, &clock->leads);
    if (clock->leads != MPI_COMM_NULL)
        MPI_Comm_size(clock->leads, &clock->nodes);
    MPI_Bcast(&clock->nodes, 1, MPI_INT, 0, clock->node);
    clock->start_us = true_us();
    clock->first = calibrate(clock);
    clock->begin = clock->first;
    clock->margin_us = margin_least_us;
}

void nbc_clock_close(NbcClock* clock)
{
    if (clock->leads != MPI_COMM_NULL)
        MPI_Comm_free(&clock->leads);
    MPI_Comm_free(&clock->node);
}

void nbc_clock_begin(const Harness* harness, NbcClock* clock)
{
    while (clock->nodes > 1 && nbc_clock_now_us(clock) - clock->first.at < apart_least_us) {
    }
    MPI_Barrier(harness->comm);
    clock->begin = calibrate(clock);
}

void nbc_clock_end(const Harness* harness, NbcClock* clock)
{
    MPI_Barrier(harness->comm);
    clock->end = calibrate(clock);
}

double nbc_clock_global_us(const NbcClock* clock, double local_us)
{
    return clock->nodes == 1 ? local_us : nbc_between(&clock->begin, &clock->end, local_us);
}

static double error_at_us(const NbcClock* clock, double local_us)
{
    const double drifted_us = local_us - clock->skew_us + clock->skew_drift * clock->start_us;
    return fabs(nbc_clock_global_us(clock, local_us) - drifted_us / (1.0 + clock->skew_drift));
}

double nbc_clock_error_us(const NbcClock* clock)
{
    return fmax(error_at_us(clock, clock->begin.at), error_at_us(clock, clock->end.at));
}

double nbc_clock_doubt_us(const NbcClock* clock)
{
    return fmax(clock->begin.latency, clock->end.latency);
}

static double global_now_us(const NbcClock* clock)
{
    const double now_us = nbc_clock_now_us(clock);
    return clock->nodes == 1 ? now_us : nbc_beyond(&clock->first, &clock->begin, now_us);
}

static void start_late(const NbcClock* clock, double start_us)
{
    while (global_now_us(clock) < start_us + clock->late_us) {
    }
}

bool nbc_clock_start(const Harness* harness, NbcClock* clock)
{
    MPI_Barrier(harness->comm);
    double start_us = global_now_us(clock) + clock->margin_us;
    MPI_Bcast(&start_us, 1, MPI_DOUBLE, 0, harness->comm);
    if (clock->late_every != 0 && ++clock->starts % clock->late_every == 0)
        start_late(clock, start_us);
    double now_us = global_now_us(clock);
    const bool is_late = now_us >= start_us;
    while (now_us < start_us) {
        // Who shares its core must let the others reach the start.
        if (clock->shares_cores)
            sched_yield();
        now_us = global_now_us(clock);
    }
    return !is_late && now_us - start_us <= clock->patience_us;
}

bool nbc_clock_was_late(const Harness* harness, NbcClock* clock, bool was_late)
{
    int mine = was_late ? 1 : 0;
    int any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, harness->comm);
    if (any != 0) {
        clock->margin_us *= 2.0;
        // A long margin may be what lets another program in: begin anew.
        if (clock->margin_us > clock->margin_most_us)
            clock->margin_us = margin_least_us;
    }
    return any != 0;
}
