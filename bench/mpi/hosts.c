// SPDX-License-Identifier: Apache-2.0
// Many ranks on few cores: what a switch, a message and a collective cost, as rank 0 sees them; one
// way is the mean of pairs that all play at once. Cases are called "Barrier, 16 ranks". `start`
// measures nothing: the driver times the whole job.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

typedef struct {
    MPI_Comm comm;
    int rank;
    int ranks;
    double value;
    double sum;
    double* part;      // 4 KiB
    double* gathered;  // as much of every rank
} Place;

enum { part_count = 512 };

// Between two ranks that share a core, a yield of each is a switch.
static void yield(void* context, long repeats)
{
    (void)context;
    for (long count = 0; count < repeats; ++count)
        sched_yield();
}

static void ping_pong(void* context, long repeats)
{
    Place* const place = context;
    const int peer = place->rank ^ 1;
    const int is_first = peer > place->rank;
    for (long count = 0; count < repeats; ++count) {
        if (is_first)
            MPI_Send(&place->value, 1, MPI_DOUBLE, peer, 1, place->comm);
        MPI_Recv(&place->sum, 1, MPI_DOUBLE, peer, 1, place->comm, MPI_STATUS_IGNORE);
        if (!is_first)
            MPI_Send(&place->value, 1, MPI_DOUBLE, peer, 1, place->comm);
    }
}

static void barrier(void* context, long repeats)
{
    for (long count = 0; count < repeats; ++count)
        MPI_Barrier(((Place*)context)->comm);
}

static void allreduce(void* context, long repeats)
{
    Place* const place = context;
    for (long count = 0; count < repeats; ++count)
        MPI_Allreduce(&place->value, &place->sum, 1, MPI_DOUBLE, MPI_SUM, place->comm);
}

// Some 30 us of work before each, which ranks on different cores do at once.
static void compute_and_allreduce(void* context, long repeats)
{
    Place* const place = context;
    for (long count = 0; count < repeats; ++count) {
        harness_compute(20000);
        MPI_Allreduce(&place->value, &place->sum, 1, MPI_DOUBLE, MPI_SUM, place->comm);
    }
}

static void allgather(void* context, long repeats)
{
    Place* const place = context;
    for (long count = 0; count < repeats; ++count) {
        MPI_Allgather(place->part, part_count, MPI_DOUBLE, place->gathered, part_count, MPI_DOUBLE,
                      place->comm);
    }
}

// A message of 8 bytes once around all ranks.
static void ring(void* context, long repeats)
{
    Place* const place = context;
    const int next = (place->rank + 1) % place->ranks;
    const int before = (place->rank + place->ranks - 1) % place->ranks;
    for (long count = 0; count < repeats; ++count) {
        if (place->rank == 0)
            MPI_Send(&place->value, 1, MPI_DOUBLE, next, 2, place->comm);
        MPI_Recv(&place->sum, 1, MPI_DOUBLE, before, 2, place->comm, MPI_STATUS_IGNORE);
        if (place->rank != 0)
            MPI_Send(&place->sum, 1, MPI_DOUBLE, next, 2, place->comm);
    }
}

static void measure(const Harness* harness, const char* what, HarnessStep step, double share,
                    Place* place)
{
    static double samples_us[harness_samples_max];
    char name[64];
    snprintf(name, sizeof name, "%s, %d ranks", what, harness->ranks);
    if (!harness_wants(harness, name))
        return;
    const int count = harness_sample(harness, step, place, samples_us);
    for (int index = 0; index < count; ++index)
        samples_us[index] *= share;
    harness_emit(harness, name, "time_us", "us", samples_us, count);
}

static void verify(const Harness* harness, Place* place)
{
    const double all = (double)harness->ranks * (harness->ranks - 1) / 2.0;
    place->value = harness->rank;
    allreduce(place, 1);
    if (place->sum != all)
        harness_fail(harness, "an allreduce has a wrong sum");
    place->value = 7.0;
    ring(place, 1);
    if (place->sum != 7.0)
        harness_fail(harness, "the ring has lost its message");
}

// For the few ranks of which 4 KiB each are gathered; memory for many would be what is measured.
static void measure_allgather(const Harness* harness, Place* place)
{
    char name[64];
    snprintf(name, sizeof name, "Allgather 4 KiB, %d ranks", harness->ranks);
    if (!harness_wants(harness, name))
        return;
    const size_t total = (size_t)part_count * (size_t)harness->ranks;
    place->part = calloc(part_count, sizeof(double));
    place->gathered = calloc(total, sizeof(double));
    if (place->part == NULL || place->gathered == NULL)
        harness_fail(harness, "no memory");
    for (int index = 0; index < part_count; ++index)
        place->part[index] = 1000.0 * harness->rank + index;
    allgather(place, 1);
    for (size_t index = 0; index < total; ++index) {
        const size_t from = index / part_count;
        if (place->gathered[index] != 1000.0 * (double)from + (double)(index % part_count))
            harness_fail(harness, "an allgather delivered wrong values");
    }
    measure(harness, "Allgather 4 KiB", allgather, 1.0, place);
    free(place->part);
    free(place->gathered);
}

int main(int argc, char** argv)
{
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    Place place = {harness.comm, harness.rank, harness.ranks, 1.0, 0.0, NULL, NULL};
    verify(&harness, &place);
    if (harness.ranks == 2)
        measure(&harness, "switch", yield, 0.5, &place);
    if (harness.ranks % 2 == 0) {
        harness.is_mean = harness.ranks > 2;
        measure(&harness, "8 B one way", ping_pong, 0.5, &place);
        harness.is_mean = false;
    }
    measure(&harness, "Barrier", barrier, 1.0, &place);
    measure(&harness, "Allreduce 8 B", allreduce, 1.0, &place);
    measure(&harness, "work and Allreduce", compute_and_allreduce, 1.0, &place);
    measure(&harness, "ring", ring, 1.0, &place);
    measure_allgather(&harness, &place);
    return harness_end(&harness);
}
