// SPDX-License-Identifier: Apache-2.0
// Non-blocking operations beside computation: cells of communication time by computation time.
//
// A case is 'OPERATION [SIZE,] COMM [x COMP] ms', as 'ibcast 8 ms', 'ireduce 1 x 64 ms' or
// 'ialltoall 64 KiB, 4 ms': an operation (nbc_calls.c), what its communication is to take and what
// the computation is to take. Without a size, the size is searched for that takes COMM. Without
// --cases: ibcast, ireduce, iallgather, ialltoall and iallreduce at 1, 2, 4 ... 64 ms.
//
// An iteration is of three runs, next to each other: communication alone, computation alone, both.
// Each begins at a moment that all ranks have agreed on; one to which a rank came late is repeated.
// Nothing but the computation happens between the call and the wait. The time of a run is from the
// first start of a rank to the last end, on a clock for all ranks (nbc_clock.c).
//
// Printed for each case: total_us, comm_us, comp_us (these times), r_overhead (each iteration, with
// the medians of the runs alone), r_comp_slowdown, rank_comp_slowdown, r_comm, rank_overhead_least,
// _median, _greatest, share_call, share_comp, share_wait (nbc.h), overlap_osu, late_starts
// (repeated), late_kept, size_bytes, order; and a line {"type": "times", "case", "rank", "comm",
// "comp", "both"} for each rank, with [before the call, after it, before the wait, after it] in us
// for each iteration. With
// --calibrate only: just size_bytes and order. With --work 'CASE=SIZE:ORDER': these are given.
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nbc_parts.h"

enum { iterations_least = 3, iterations_most = 30, iterations_warm = 2 };
enum { attempts_most = 24, searches_most = 20, samples_of_search = 7 };
static const double converged = 0.10;
// Where no size or order comes so close, the nearest one is taken up to this factor: what counts is
// measured, not the target.
static const double near_enough = 2.0;
// A start may be so late: so much, and such a part of the cell's shorter time.
static const double patience_least_us = 10.0;
static const double patience_part = 0.02;

typedef enum { alone_comm, alone_comp, together, part_count } Part;

typedef struct {
    const Harness* harness;
    NbcClock clock;
    NbcCall call;
    char name[64];
    double comm_target_us;
    double comp_target_us;
    size_t fixed_size;  // 0: to be searched for
    int order;
    int late_starts;
    int late_kept;
    NbcTimes times[part_count][iterations_most];  // of this rank; local time
} Cell;

static bool read_case(const char* name, Cell* cell)
{
    char operation[24];
    int length = 0;
    unsigned long size = 0;
    char unit[4];
    int after = 0;
    if (sscanf(name, "%23s %n", operation, &length) != 1 || strlen(name) >= sizeof cell->name)
        return false;
    cell->call.kind = nbc_kind(operation);
    const char* rest = name + length;
    if (sscanf(rest, "%lu %3[BKMiGB], %n", &size, unit, &after) == 2 && after > 0) {
        cell->fixed_size = size << (unit[0] == 'K' ? 10 : unit[0] == 'M' ? 20 : 0);
        rest += after;
    }
    double comm_ms = 0.0;
    double comp_ms = 0.0;
    char end[4] = "";
    if (sscanf(rest, "%lf x %lf %2s", &comm_ms, &comp_ms, end) != 3) {
        if (sscanf(rest, "%lf %2s", &comm_ms, end) != 2)
            return false;
        comp_ms = comm_ms;
    }
    cell->comm_target_us = comm_ms * 1e3;
    cell->comp_target_us = comp_ms * 1e3;
    snprintf(cell->name, sizeof cell->name, "%s", name);
    return cell->call.kind >= 0 && strcmp(end, "ms") == 0 && comm_ms > 0.0 && comp_ms > 0.0;
}

// One run of this rank. False: it began late.
static bool run_rank(Cell* cell, Part part, NbcTimes* times)
{
    const Harness* const harness = cell->harness;
    NbcClock* const clock = &cell->clock;
    MPI_Request requests[2];
    int count = 0;
    const bool in_time = nbc_clock_start(harness, clock);
    times->called = nbc_clock_now_us(clock);
    if (part != alone_comp)
        count = nbc_call_start(harness, &cell->call, requests);
    times->returned = nbc_clock_now_us(clock);
    if (part != alone_comm) {
        // Ranks that share this core have not called yet: no computation may come first.
        if (clock->shares_cores)
            sched_yield();
        nbc_work(cell->order);
    }
    times->computed = nbc_clock_now_us(clock);
    if (count != 0)
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    times->done = nbc_clock_now_us(clock);
    return in_time;
}

// Runs until all ranks began in time. Where they do not come to that, the last run counts, late as
// it is: threads of the library keep the ranks from their cores.
static void run(Cell* cell, Part part, NbcTimes* times)
{
    for (int attempt = 0; attempt < attempts_most; ++attempt) {
        const bool in_time = run_rank(cell, part, times);
        if (!nbc_clock_was_late(cell->harness, &cell->clock, !in_time))
            return;
        ++cell->late_starts;
    }
    ++cell->late_kept;
}

// Times of one iteration of all ranks on rank 0's clock; on rank 0 only.
static void gather(const Cell* cell, const NbcTimes* mine, NbcTimes* all)
{
    NbcTimes global = {
        nbc_clock_global_us(&cell->clock, mine->called),
        nbc_clock_global_us(&cell->clock, mine->returned),
        nbc_clock_global_us(&cell->clock, mine->computed),
        nbc_clock_global_us(&cell->clock, mine->done),
    };
    MPI_Gather(&global, 4, MPI_DOUBLE, all, 4, MPI_DOUBLE, 0, cell->harness->comm);
}

static int compare(const void* left, const void* right)
{
    const double a = *(const double*)left;
    const double b = *(const double*)right;
    return (a > b) - (a < b);
}

// Global time of some runs, the same on all ranks. Whatever disturbs a run makes it longer, so it
// is the least of computations, which are alike, and the least but one of communications.
static double time_of(Cell* cell, Part part, int samples)
{
    const Harness* const harness = cell->harness;
    NbcTimes* const all = malloc((size_t)harness->ranks * sizeof *all);
    double values[samples_of_search];
    double time_us = 0.0;
    if (all == NULL)
        harness_fail(harness, "no memory");
    for (int sample = 0; sample < samples; ++sample) {
        NbcTimes mine;
        run(cell, part, &mine);
        cell->clock.end = cell->clock.begin;
        gather(cell, &mine, all);
        if (harness->rank == 0)
            values[sample] = nbc_global_time(all, harness->ranks);
    }
    if (harness->rank == 0) {
        qsort(values, (size_t)samples, sizeof *values, compare);
        time_us = values[samples > 1 && part == alone_comm ? 1 : 0];
    }
    free(all);
    MPI_Bcast(&time_us, 1, MPI_DOUBLE, 0, harness->comm);
    return time_us;
}

static bool is_near(double time_us, double target_us)
{
    return fabs(time_us - target_us) < converged * target_us;
}

// What came nearest to a target so far.
typedef struct {
    double factor;  // at least 1; infinite: nothing was tried
    size_t choice;
} Nearest;

static void try_choice(Nearest* nearest, size_t choice, double took_us, double target_us)
{
    const double factor = took_us > target_us ? took_us / target_us : target_us / took_us;
    if (factor < nearest->factor)
        *nearest = (Nearest){factor, choice};
}

// The order of the matrices whose product takes the target; 0: none was found.
static int search_order(Cell* cell)
{
    Nearest nearest = {INFINITY, 0};
    double order = 64.0;
    for (int search = 0; search < searches_most; ++search) {
        cell->order = (int)(order + 0.5);
        if (!nbc_work_resize(cell->order))
            break;
        nbc_work(cell->order);
        const double took_us = time_of(cell, alone_comp, samples_of_search);
        if (is_near(took_us, cell->comp_target_us))
            return cell->order;
        try_choice(&nearest, (size_t)cell->order, took_us, cell->comp_target_us);
        const double factor = cbrt(cell->comp_target_us / took_us);
        order = fmax(1.0, order * fmin(4.0, fmax(0.25, factor)));
    }
    return nearest.factor <= near_enough ? (int)nearest.choice : 0;
}

// The size whose communication takes the target. False: none does.
static bool search_size(Cell* cell)
{
    const Harness* const harness = cell->harness;
    Nearest nearest = {INFINITY, 0};
    size_t size = 65536;
    size_t low = 0;
    size_t high = 0;
    for (int search = 0; search < searches_most; ++search) {
        if (!nbc_call_resize(harness, &cell->call, size))
            break;
        time_of(cell, alone_comm, 1);
        const double took_us = time_of(cell, alone_comm, samples_of_search);
        if (is_near(took_us, cell->comm_target_us))
            return true;
        try_choice(&nearest, size, took_us, cell->comm_target_us);
        size = nbc_next_size(size, took_us, cell->comm_target_us, &low, &high);
        if (size == low || size == high)
            break;
    }
    return nearest.factor <= near_enough && nbc_call_resize(harness, &cell->call, nearest.choice);
}

// Chooses what the driver has not; null, or why this cannot be.
static const char* calibrate(Cell* cell)
{
    const Harness* const harness = cell->harness;
    const long given_size = harness_work(harness, cell->name);
    const long given_order = harness_work_part(harness, cell->name, 1);
    cell->order = (int)given_order;
    if (cell->order == 0)
        cell->order = search_order(cell);
    if (cell->order == 0 || !nbc_work_resize(cell->order))
        return "no computation takes the wanted time: the machine is too busy";
    const size_t size = given_size != 0 ? (size_t)given_size : cell->fixed_size;
    if (size != 0)
        return nbc_call_resize(harness, &cell->call, size) ? NULL : "no memory for its buffers";
    return search_size(cell) ? NULL : "no size takes the wanted time";
}

static void emit_one(const Cell* cell, const char* metric, const char* unit, double value)
{
    harness_emit(cell->harness, cell->name, metric, unit, &value, 1);
}

static void emit_chosen(const Cell* cell)
{
    emit_one(cell, "size_bytes", "bytes", (double)cell->call.size);
    emit_one(cell, "order", "count", cell->order);
}

static void print_times(const NbcTimes* all, int ranks, int count, int rank, double begin_us)
{
    for (int index = 0; index < count; ++index) {
        const NbcTimes* const times = &all[index * ranks + rank];
        printf("%s[%.2f, %.2f, %.2f, %.2f]", index == 0 ? "[" : ", ", times->called - begin_us,
               times->returned - begin_us, times->computed - begin_us, times->done - begin_us);
    }
    printf("]");
}

static void emit_times(const Cell* cell, NbcTimes* const all[part_count], int count)
{
    static const char* const parts[part_count] = {"comm", "comp", "both"};
    const int ranks = cell->harness->ranks;
    for (int rank = 0; rank < ranks; ++rank) {
        printf("{\"type\": \"times\", \"case\": \"%s\", \"rank\": %d", cell->name, rank);
        for (int part = 0; part < part_count; ++part) {
            printf(", \"%s\": ", parts[part]);
            print_times(all[part], ranks, count, rank, all[0][0].called);
        }
        printf("}\n");
    }
    fflush(stdout);
}

// Prints what all ranks saw; on rank 0.
static void report(const Cell* cell, NbcTimes* const all[part_count], int count)
{
    static const char* const metrics[part_count] = {"comm_us", "comp_us", "total_us"};
    double totals[part_count][iterations_most];
    double ratios[iterations_most];
    double overlaps[iterations_most];
    const int ranks = cell->harness->ranks;
    for (int part = 0; part < part_count; ++part) {
        for (int index = 0; index < count; ++index)
            totals[part][index] = nbc_global_time(&all[part][index * ranks], ranks);
        harness_emit(cell->harness, cell->name, metrics[part], "us", totals[part], count);
    }
    const double comm_us = nbc_median(totals[alone_comm], count);
    const double comp_us = nbc_median(totals[alone_comp], count);
    const NbcRatios found = nbc_ratios(all[alone_comm], all[alone_comp], all[together], ranks,
                                       count, cell->clock.shares_cores);
    for (int index = 0; index < count; ++index) {
        ratios[index] = nbc_overhead(totals[together][index], comp_us, comm_us);
        overlaps[index] =
            nbc_overlap_osu(totals[together][index], comp_us * found.comp_slowdown, comm_us);
    }
    harness_emit(cell->harness, cell->name, "r_overhead", "ratio", ratios, count);
    harness_emit(cell->harness, cell->name, "overlap_osu", "%", overlaps, count);
    emit_one(cell, "r_comp_slowdown", "ratio", found.comp_slowdown);
    emit_one(cell, "rank_comp_slowdown", "ratio", found.rank_comp_slowdown);
    emit_one(cell, "r_comm", "ratio", found.comm);
    emit_one(cell, "rank_overhead_least", "ratio", found.rank_overhead_least);
    emit_one(cell, "rank_overhead_median", "ratio", found.rank_overhead_median);
    emit_one(cell, "rank_overhead_greatest", "ratio", found.rank_overhead_greatest);
    emit_one(cell, "share_call", "ratio", found.share_call);
    emit_one(cell, "share_comp", "ratio", found.share_comp);
    emit_one(cell, "share_wait", "ratio", found.share_wait);
    emit_one(cell, "late_starts", "count", cell->late_starts);
    emit_one(cell, "late_kept", "count", cell->late_kept);
    emit_chosen(cell);
    emit_times(cell, all, count);
}

// How far a rank's idea of a skewed clock is off, at most, and how far its round trips can have
// misled it; for tests.
static void emit_residual(const Cell* cell)
{
    if (getenv("NBC_SKEW") == NULL)
        return;
    const double mine[2] = {nbc_clock_error_us(&cell->clock), nbc_clock_doubt_us(&cell->clock)};
    double greatest[2] = {0.0, 0.0};
    MPI_Reduce(mine, greatest, 2, MPI_DOUBLE, MPI_MAX, 0, cell->harness->comm);
    emit_one(cell, "clock_residual_us", "us", greatest[0]);
    emit_one(cell, "clock_doubt_us", "us", greatest[1]);
}

static void measure(Cell* cell)
{
    const Harness* const harness = cell->harness;
    const double wanted =
        harness->budget_s * 1e6 / (2.5 * (cell->comm_target_us + cell->comp_target_us));
    int count = (int)fmin(iterations_most, fmax(iterations_least, wanted));
    MPI_Bcast(&count, 1, MPI_INT, 0, harness->comm);
    nbc_call_verify(harness, &cell->call);
    nbc_work(cell->order);
    nbc_clock_begin(harness, &cell->clock);
    cell->late_starts = 0;
    cell->late_kept = 0;
    for (int index = -iterations_warm; index < count; ++index) {
        for (int part = alone_comm; part < part_count; ++part) {
            const int place = index < 0 ? 0 : index;
            run(cell, (Part)part, &cell->times[part][place]);
        }
    }
    nbc_clock_end(harness, &cell->clock);
    const size_t number = (size_t)count * (size_t)harness->ranks;
    NbcTimes* all[part_count];
    for (int part = 0; part < part_count; ++part) {
        all[part] = malloc(number * sizeof(NbcTimes));
        if (all[part] == NULL)
            harness_fail(harness, "no memory");
        for (int index = 0; index < count; ++index)
            gather(cell, &cell->times[part][index], &all[part][index * harness->ranks]);
    }
    if (harness->rank == 0)
        report(cell, all, count);
    emit_residual(cell);
    for (int part = 0; part < part_count; ++part)
        free(all[part]);
}

static void run_case(const Harness* harness, NbcClock* clock, const char* name)
{
    static Cell cell;
    memset(&cell, 0, sizeof cell);
    cell.harness = harness;
    cell.clock = *clock;
    if (!read_case(name, &cell)) {
        harness_fail(harness,
                     "a case is 'OPERATION [SIZE,] COMM [x COMP] ms', as 'ibcast 8 ms'; "
                     "operations stand in bench/mpi/nbc_calls.c");
    }
    const double shorter_us = fmin(cell.comm_target_us, cell.comp_target_us);
    cell.clock.patience_us = patience_least_us + patience_part * shorter_us;
    if (cell.clock.shares_cores)
        cell.clock.patience_us += 100.0 + 8.0 * patience_part * shorter_us;
    cell.clock.margin_most_us = 2000.0 + 4.0 * cell.comm_target_us;
    nbc_clock_begin(harness, &cell.clock);
    const char* const why_not = calibrate(&cell);
    if (why_not != NULL)
        harness_skip(harness, cell.name, why_not);
    else if (harness->calibrates_only)
        emit_chosen(&cell);
    else
        measure(&cell);
    clock->margin_us = cell.clock.margin_us;
    nbc_call_free(&cell.call);
}

static void run_listed(const Harness* harness, NbcClock* clock)
{
    char* const names = strdup(harness->cases);
    if (names == NULL)
        harness_fail(harness, "no memory");
    char* place = NULL;
    for (char* name = strtok_r(names, ";", &place); name != NULL;
         name = strtok_r(NULL, ";", &place))
        run_case(harness, clock, name);
    free(names);
}

static void run_diagonal(const Harness* harness, NbcClock* clock)
{
    static const char* const operations[] = {"ibcast", "ireduce", "iallgather", "ialltoall",
                                             "iallreduce"};
    for (size_t index = 0; index < sizeof operations / sizeof operations[0]; ++index) {
        for (int target_ms = 1; target_ms <= 64; target_ms *= 2) {
            char name[40];
            snprintf(name, sizeof name, "%s %d ms", operations[index], target_ms);
            run_case(harness, clock, name);
        }
    }
}

int main(int argc, char** argv)
{
    Harness harness;
    NbcClock clock;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    nbc_clock_open(&harness, &clock);
    if (harness.cases != NULL)
        run_listed(&harness, &clock);
    else
        run_diagonal(&harness, &clock);
    nbc_clock_close(&clock);
    nbc_work_free();
    return harness_end(&harness);
}
