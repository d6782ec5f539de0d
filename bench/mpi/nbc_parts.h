// SPDX-License-Identifier: Apache-2.0
// Parts of the program `nbc` that use MPI: the clock of all ranks, the operations, the computation.
#ifndef HEADWAY_BENCH_NBC_PARTS_H
#define HEADWAY_BENCH_NBC_PARTS_H

#include <stdbool.h>

#include "harness.h"
#include "nbc.h"

// --- nbc_clock.c
// Ranks of one node share CLOCK_MONOTONIC_RAW (the cycle counter, scaled, never slewed). Between
// nodes the first rank of each finds the offset of its clock from rank 0's by round trips, the
// quickest of which counts. Two fixes give the drift.
typedef struct {
    MPI_Comm node;   // ranks with one clock
    MPI_Comm leads;  // the first rank of each node; MPI_COMM_NULL elsewhere
    int nodes;
    NbcFix first;    // when the program began
    NbcFix begin;    // of this cell
    NbcFix end;      // of this cell
    double skew_us;  // NBC_SKEW: an invented offset, for tests, which takes each rank for a node
    double skew_drift;
    double late_us;  // NBC_LATE: how late this rank comes to every late_every-th start, for tests
    long late_every;
    long starts;
    double start_us;   // local time at which the program began
    double margin_us;  // between agreeing on a start and the start; rank 0's counts
    double margin_most_us;
    double patience_us;  // an entry later than this does not count
    bool shares_cores;
} NbcClock;

void nbc_clock_open(const Harness* harness, NbcClock* clock);
void nbc_clock_close(NbcClock* clock);
double nbc_clock_now_us(const NbcClock* clock);
// How far this rank's idea of rank 0's clock is off in the cell, where its own clock is skewed.
double nbc_clock_error_us(const NbcClock* clock);
// By how much round trips can have misled it: half of the quickest one.
double nbc_clock_doubt_us(const NbcClock* clock);
// New fixes; called by all ranks before the iterations of a cell and after them.
void nbc_clock_begin(const Harness* harness, NbcClock* clock);
void nbc_clock_end(const Harness* harness, NbcClock* clock);
// Local time of the cell on rank 0's clock.
double nbc_clock_global_us(const NbcClock* clock, double local_us);
// Waits until a moment that all ranks have agreed on. False: this rank was late.
bool nbc_clock_start(const Harness* harness, NbcClock* clock);
// All ranks, after an iteration: whether a rank was late; the margin then grows.
bool nbc_clock_was_late(const Harness* harness, NbcClock* clock, bool was_late);

// --- nbc_calls.c
typedef struct {
    int kind;     // index of the operation
    size_t size;  // bytes: the message, or a rank's block
    size_t room;  // bytes that each buffer has
    unsigned char* out;
    unsigned char* in;
    int* counts;  // of the v-forms: counts and displacements
    int* displacements;
} NbcCall;

enum { nbc_bytes_max = 512 * 1024 * 1024 };

// The operation of this name, -1 where there is none.
int nbc_kind(const char* name);
// Makes the buffers fit. False: they would be larger than nbc_bytes_max, or there is no memory; the
// same on all ranks.
bool nbc_call_resize(const Harness* harness, NbcCall* call, size_t size);
void nbc_call_free(NbcCall* call);
// Starts the operation; at most two requests. Returns how many.
int nbc_call_start(const Harness* harness, const NbcCall* call, MPI_Request requests[2]);
// Runs it once and ends the job where the result is wrong.
void nbc_call_verify(const Harness* harness, const NbcCall* call);

// --- nbc_work.c
// Products of square matrices, `order` wide, one a thread of the OpenMP team, each its own.
void nbc_work(int order);
// Makes the matrices for products up to this order, touched by the threads that use them.
bool nbc_work_resize(int order);
void nbc_work_free(void);
int nbc_work_threads(void);

#endif
