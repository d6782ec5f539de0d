// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the program `nbc` (non-blocking collectives beside computation, bench/README.md),
// without MPI, so that a test can call it. Times are microseconds of one clock for all ranks.
#ifndef HEADWAY_BENCH_NBC_H
#define HEADWAY_BENCH_NBC_H

#include <stdbool.h>
#include <stddef.h>

// One iteration of one rank: before the call, after it, before the wait, after it.
typedef struct {
    double called;
    double returned;
    double computed;
    double done;
} NbcTimes;

// What the iterations of a cell say. Ratios as specified in bench/README.md.
typedef struct {
    double comp_slowdown;        // of the slowest core, see nbc_ratios()
    double rank_comp_slowdown;   // greatest of the ranks, each by its own computation alone
    double comm;                 // greatest of the ranks: time in MPI by the communication alone
    double rank_overhead_least;  // each rank's own overhead: least, median, greatest
    double rank_overhead_median;
    double rank_overhead_greatest;
    double share_call;  // parts of the time, the mean over the ranks
    double share_comp;
    double share_wait;
} NbcRatios;

// 0: the shorter of the two is hidden; 1: as if one came after the other; never clamped.
double nbc_overhead(double measured, double comp_reference, double comm_reference);

// Overlap in percent by the formula of the OSU benchmarks, which uses the disturbed computation.
double nbc_overlap_osu(double overall, double compute, double pure_comm);

// From the first start to the last end. `times` holds one entry a rank.
double nbc_global_time(const NbcTimes* times, int ranks);

double nbc_median(const double* values, int count);

// Ratios of a cell. The three arrays hold `count` iterations of `ranks` ranks each, those of an
// iteration together: communication alone, computation alone, both. Requires: count <= 200.
//
// A computation is slowed as its core is. A rank with a core of its own is measured by its own
// time. Of ranks that share cores each one's time is mostly the order in which the system let them
// compute, half of the time of all if it came first; they are measured together, from the first one
// that begins to compute to the last one that ends.
NbcRatios nbc_ratios(const NbcTimes* comm, const NbcTimes* comp, const NbcTimes* both, int ranks,
                     int count, bool shares_cores);

// Where a rank's clock stood beside the reference clock: reference = local + offset.
typedef struct {
    double at;
    double offset;
    double latency;
} NbcFix;

// Local time on the reference clock, between two fixes (durations, after the fact).
double nbc_between(const NbcFix* begin, const NbcFix* end, double local);

// Local time on the reference clock after the later of two fixes, by the drift between them.
double nbc_beyond(const NbcFix* first, const NbcFix* later, double local);

// Next size to try for a time of `target`, given what `size` took; keeps [low, high], 0 = open.
size_t nbc_next_size(size_t size, double took, double target, size_t* low, size_t* high);

#endif
