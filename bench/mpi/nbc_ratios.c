// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nbc.h"

enum { count_max = 200 };

double nbc_overhead(double measured, double comp_reference, double comm_reference)
{
    const double longer = fmax(comp_reference, comm_reference);
    return (measured - longer) / fmin(comp_reference, comm_reference);
}

double nbc_overlap_osu(double overall, double compute, double pure_comm)
{
    return fmax(0.0, 100.0 * (1.0 - (overall - compute) / pure_comm));
}

double nbc_global_time(const NbcTimes* times, int ranks)
{
    double begin = times[0].called;
    double end = times[0].done;
    for (int rank = 1; rank < ranks; ++rank) {
        begin = fmin(begin, times[rank].called);
        end = fmax(end, times[rank].done);
    }
    return end - begin;
}

static int compare(const void* left, const void* right)
{
    const double a = *(const double*)left;
    const double b = *(const double*)right;
    return (a > b) - (a < b);
}

double nbc_median(const double* values, int count)
{
    double sorted[count_max];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0;
}

typedef double (*Duration)(const NbcTimes*);

static double in_call(const NbcTimes* times)
{
    return times->returned - times->called;
}
static double in_computation(const NbcTimes* times)
{
    return times->computed - times->returned;
}
static double in_wait(const NbcTimes* times)
{
    return times->done - times->computed;
}
static double in_all(const NbcTimes* times)
{
    return times->done - times->called;
}

// The median over the iterations of one rank.
static double of_rank(const NbcTimes* times, int ranks, int count, int rank, Duration duration)
{
    double values[count_max];
    for (int index = 0; index < count; ++index)
        values[index] = duration(&times[index * ranks + rank]);
    return nbc_median(values, count);
}

// From the first rank that computes to the last one that has.
static double computation_of_all(const NbcTimes* times, int ranks)
{
    double begin = times[0].returned;
    double end = times[0].computed;
    for (int rank = 1; rank < ranks; ++rank) {
        begin = fmin(begin, times[rank].returned);
        end = fmax(end, times[rank].computed);
    }
    return end - begin;
}

typedef double (*DurationOfAll)(const NbcTimes*, int ranks);

static double median_of_all(const NbcTimes* times, int ranks, int count, DurationOfAll duration)
{
    double values[count_max];
    for (int index = 0; index < count; ++index)
        values[index] = duration(&times[index * ranks], ranks);
    return nbc_median(values, count);
}

NbcRatios nbc_ratios(const NbcTimes* comm, const NbcTimes* comp, const NbcTimes* both, int ranks,
                     int count, bool shares_cores)
{
    NbcRatios found;
    memset(&found, 0, sizeof found);
    const double comm_reference = median_of_all(comm, ranks, count, nbc_global_time);
    const double comp_reference = median_of_all(comp, ranks, count, nbc_global_time);
    double* const overheads = malloc((size_t)ranks * sizeof *overheads);
    if (overheads == NULL)
        abort();
    for (int rank = 0; rank < ranks; ++rank) {
        const double call = of_rank(both, ranks, count, rank, in_call);
        const double computation = of_rank(both, ranks, count, rank, in_computation);
        const double wait = of_rank(both, ranks, count, rank, in_wait);
        const double alone = of_rank(comp, ranks, count, rank, in_computation);
        const double all = call + computation + wait;
        found.rank_comp_slowdown = fmax(found.rank_comp_slowdown, computation / alone);
        found.comm = fmax(found.comm, (call + wait) / comm_reference);
        found.share_call += call / all / ranks;
        found.share_comp += computation / all / ranks;
        found.share_wait += wait / all / ranks;
        overheads[rank] =
            nbc_overhead(of_rank(both, ranks, count, rank, in_all), comp_reference, comm_reference);
    }
    found.comp_slowdown = !shares_cores ? found.rank_comp_slowdown
                                        : median_of_all(both, ranks, count, computation_of_all) /
                                              median_of_all(comp, ranks, count, computation_of_all);
    qsort(overheads, (size_t)ranks, sizeof *overheads, compare);
    found.rank_overhead_least = overheads[0];
    found.rank_overhead_median =
        ranks % 2 ? overheads[ranks / 2] : (overheads[ranks / 2 - 1] + overheads[ranks / 2]) / 2.0;
    found.rank_overhead_greatest = overheads[ranks - 1];
    free(overheads);
    return found;
}

double nbc_between(const NbcFix* begin, const NbcFix* end, double local)
{
    if (end->at <= begin->at)
        return local + begin->offset;
    const double part = (local - begin->at) / (end->at - begin->at);
    return local + begin->offset + (end->offset - begin->offset) * part;
}

double nbc_beyond(const NbcFix* first, const NbcFix* later, double local)
{
    if (later->at <= first->at)
        return local + later->offset;
    const double drift = (later->offset - first->offset) / (later->at - first->at);
    return local + later->offset + drift * (local - later->at);
}

size_t nbc_next_size(size_t size, double took, double target, size_t* low, size_t* high)
{
    if (took < target)
        *low = size > *low ? size : *low;
    else if (*high == 0 || size < *high)
        *high = size;
    // At most eightfold a step: the start-up part of a small message's time would mislead.
    const double factor = fmin(8.0, fmax(0.125, target / took));
    size_t next = (size_t)((double)size * factor + 0.5);
    const bool is_outside = next <= *low || (*high != 0 && next >= *high);
    if (*high != 0 && is_outside)
        next = (size_t)sqrt((double)(*low > 0 ? *low : 1) * (double)*high);
    return next > 0 ? next : 1;
}
