// SPDX-License-Identifier: Apache-2.0
// Requests that start again: how long an exchange of 8 bytes between two ranks takes by persistent
// or partitioned requests (start and wait), over what it takes by MPI_Isend, MPI_Irecv and a wait.
// The three ways take turns, so that a sample compares what the machine did at one time.
#include <stdint.h>

#include "harness.h"

enum { samples = 101, repeats = 2000, tag = 3 };

typedef struct {
    const Harness* harness;
    int partner;
    int64_t out;
    int64_t in;
    MPI_Request persistent[2];
    MPI_Request partitioned[2];
} Bench;

static void exchange(Bench* bench)
{
    MPI_Request requests[2];
    MPI_Irecv(&bench->in, 8, MPI_BYTE, bench->partner, tag, bench->harness->comm, &requests[0]);
    MPI_Isend(&bench->out, 8, MPI_BYTE, bench->partner, tag, bench->harness->comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void exchange_persistent(Bench* bench)
{
    MPI_Startall(2, bench->persistent);
    MPI_Waitall(2, bench->persistent, MPI_STATUSES_IGNORE);
}

static void exchange_partitioned(Bench* bench)
{
    MPI_Startall(2, bench->partitioned);
    MPI_Pready(0, bench->partitioned[1]);
    MPI_Waitall(2, bench->partitioned, MPI_STATUSES_IGNORE);
}

static double time_of(Bench* bench, void (*step)(Bench*))
{
    const double begin_us = harness_now_us();
    for (int i = 0; i < repeats; ++i) {
        ++bench->out;
        step(bench);
        if (bench->in != bench->out)
            harness_fail(bench->harness, "a message brought another number");
    }
    return (harness_now_us() - begin_us) / repeats;
}

static void open_requests(Bench* bench)
{
    MPI_Comm comm = bench->harness->comm;
    MPI_Recv_init(&bench->in, 8, MPI_BYTE, bench->partner, tag, comm, &bench->persistent[0]);
    MPI_Send_init(&bench->out, 8, MPI_BYTE, bench->partner, tag, comm, &bench->persistent[1]);
    MPI_Precv_init(&bench->in, 1, 8, MPI_BYTE, bench->partner, tag, comm, MPI_INFO_NULL,
                   &bench->partitioned[0]);
    MPI_Psend_init(&bench->out, 1, 8, MPI_BYTE, bench->partner, tag, comm, MPI_INFO_NULL,
                   &bench->partitioned[1]);
}

int main(int argc, char** argv)
{
    static const char* const names[] = {"persistent", "partitioned"};
    static void (*const steps[])(Bench*) = {exchange_persistent, exchange_partitioned};
    static double ratios[2][samples], times[3][samples];
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    Bench bench = {.harness = &harness, .partner = 1 - harness.rank};
    open_requests(&bench);
    for (int sample = -2; sample < samples; ++sample) {  // two for warm-up
        const int place = sample < 0 ? 0 : sample;
        times[2][place] = time_of(&bench, exchange);
        for (int way = 0; way < 2; ++way) {
            times[way][place] = time_of(&bench, steps[way]);
            ratios[way][place] = times[way][place] / times[2][place];
        }
    }
    for (int way = 0; way < 2; ++way) {
        if (harness_wants(&harness, names[way])) {
            harness_emit(&harness, names[way], "ratio", "ratio", ratios[way], samples);
            harness_emit(&harness, names[way], "time_us", "us", times[way], samples);
        }
        MPI_Request_free(&bench.persistent[way]);
        MPI_Request_free(&bench.partitioned[way]);
    }
    return harness_end(&harness);
}
