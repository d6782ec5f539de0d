// SPDX-License-Identifier: Apache-2.0
// Sync objects (include/mpi-ext.h): how many times as long a query takes with 10 000 receives
// attached as with 10. Cases: "nothing there", a query that finds no event; "an event", a request
// that the program itself completes (so that no message is matched): its start, MPIX_Sync_attach,
// its completion, and the query that takes the event.
#include <mpi-ext.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness.h"

enum { few = 10, many = 10000, samples = 31, repeats = 2000 };

typedef struct {
    const Harness* harness;
    MPIX_Sync sync;
    int* received;  // one a receive
    int attached;
} Bench;

static void attach(Bench* bench, int tag)
{
    MPI_Request request;
    MPI_Irecv(&bench->received[tag], 1, MPI_INT, bench->harness->rank, tag, bench->harness->comm,
              &request);
    MPIX_Sync_attach(bench->sync, &request, (void*)(intptr_t)tag);
}

static void attach_up_to(Bench* bench, int count)
{
    while (bench->attached < count)
        attach(bench, bench->attached++);
}

static void look_in_vain(Bench* bench)
{
    for (int i = 0; i < repeats; ++i) {
        if (MPIX_Sync_query(bench->sync, MPI_STATUS_IGNORE) != MPIX_SYNC_EMPTY)
            harness_fail(bench->harness, "an event came without a message");
    }
}

static int describe(void* extra, MPI_Status* status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int let_go(void* extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int ignore_cancel(void* extra, int is_complete)
{
    (void)extra, (void)is_complete;
    return MPI_SUCCESS;
}

static void take_events(Bench* bench)
{
    for (int i = 0; i < repeats; ++i) {
        MPI_Request request;
        MPI_Grequest_start(describe, let_go, ignore_cancel, NULL, &request);
        MPIX_Sync_attach(bench->sync, &request, bench);
        MPI_Grequest_complete(request);
        if (MPIX_Sync_query(bench->sync, MPI_STATUS_IGNORE) != bench)
            harness_fail(bench->harness, "the event is that of another request");
    }
}

static void measure(Bench* bench, void (*step)(Bench*), double* times_us)
{
    step(bench);  // warm-up
    for (int i = 0; i < samples; ++i) {
        const double begin_us = harness_now_us();
        step(bench);
        times_us[i] = harness_now_us() - begin_us;
    }
}

// Tags from 0 on are received in this order, so that each message finds its receive.
static void drop_all(Bench* bench)
{
    for (int tag = 0; tag < bench->attached; ++tag)
        MPI_Send(&tag, 1, MPI_INT, bench->harness->rank, tag, bench->harness->comm);
    MPIX_Sync_waitall(bench->sync);
    MPIX_Sync_free(&bench->sync);
}

int main(int argc, char** argv)
{
    static const char* const names[] = {"nothing there", "an event"};
    static void (*const steps[])(Bench*) = {look_in_vain, take_events};
    double few_us[2][samples], many_us[2][samples], ratios[samples];
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    Bench bench = {.harness = &harness, .received = calloc(many, sizeof(int))};
    if (bench.received == NULL || MPIX_Sync_init(&bench.sync) != MPI_SUCCESS)
        harness_fail(&harness, "no memory");
    attach_up_to(&bench, few);
    for (int i = 0; i < 2; ++i)
        measure(&bench, steps[i], few_us[i]);
    attach_up_to(&bench, many);
    for (int i = 0; i < 2; ++i)
        measure(&bench, steps[i], many_us[i]);
    for (int i = 0; i < 2; ++i) {
        for (int k = 0; k < samples; ++k)
            ratios[k] = many_us[i][k] / few_us[i][k];
        if (harness_wants(&harness, names[i]))
            harness_emit(&harness, names[i], "ratio", "ratio", ratios, samples);
    }
    drop_all(&bench);
    free(bench.received);
    return harness_end(&harness);
}
