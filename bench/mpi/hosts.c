// SPDX-License-Identifier: Apache-2.0
// Many ranks on few cores: what a switch, a message and a collective cost, as rank 0 sees them.
// Cases are called "Barrier, 16 ranks". `start` measures nothing: the driver times the whole job.
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
} Place;

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
    const int peer = 1 - place->rank;
    for (long count = 0; count < repeats; ++count) {
        if (place->rank == 0)
            MPI_Send(&place->value, 1, MPI_DOUBLE, peer, 1, place->comm);
        MPI_Recv(&place->sum, 1, MPI_DOUBLE, peer, 1, place->comm, MPI_STATUS_IGNORE);
        if (place->rank == 1)
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

static void measure(const Harness* harness, const char* what, HarnessStep step, double share)
{
    static double samples_us[harness_samples_max];
    Place place = {harness->comm, harness->rank, harness->ranks, 1.0, 0.0};
    char name[64];
    snprintf(name, sizeof name, "%s, %d ranks", what, harness->ranks);
    if (!harness_wants(harness, name))
        return;
    const int count = harness_sample(harness, step, &place, samples_us);
    for (int index = 0; index < count; ++index)
        samples_us[index] *= share;
    harness_emit(harness, name, "time_us", "us", samples_us, count);
}

static void verify(const Harness* harness)
{
    Place place = {harness->comm, harness->rank, harness->ranks, (double)harness->rank, -1.0};
    const double all = (double)harness->ranks * (harness->ranks - 1) / 2.0;
    allreduce(&place, 1);
    if (place.sum != all)
        harness_fail(harness, "an allreduce has a wrong sum");
    place.value = 7.0;
    ring(&place, 1);
    if (place.sum != 7.0)
        harness_fail(harness, "the ring has lost its message");
}

int main(int argc, char** argv)
{
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    verify(&harness);
    if (harness.ranks == 2) {
        measure(&harness, "switch", yield, 0.5);
        measure(&harness, "8 B one way", ping_pong, 0.5);
    }
    measure(&harness, "Barrier", barrier, 1.0);
    measure(&harness, "Allreduce 8 B", allreduce, 1.0);
    measure(&harness, "ring", ring, 1.0);
    return harness_end(&harness);
}
