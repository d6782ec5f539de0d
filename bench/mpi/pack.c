// SPDX-License-Identifier: Apache-2.0
// Packing by hand while another thread of the rank waits in MPI, or four of them: its time over
// that of packing alone. Cases: "pack 10 MB", "unpack 10 MB", the same with ", 4 threads", 1.25
// million doubles, every second one of memory. Ten of each in a row, in turn, so that a change of
// the machine's speed meets both.
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

enum { doubles = 1250000, stride = 2, samples = 31, repeats = 10, tag = 1, waiters_max = 4 };

typedef struct {
    const Harness* harness;
    MPI_Datatype type;
    double* spread;
    double* packed;
    int waiters;
} Bench;

static double time_all(const Bench* bench, bool packs)
{
    const int bytes = doubles * (int)sizeof(double);
    const MPI_Comm comm = bench->harness->comm;
    const double begin_us = harness_now_us();
    for (int i = 0; i < repeats; ++i) {
        int position = 0;
        if (packs) {
            MPI_Pack(bench->spread, 1, bench->type, bench->packed, bytes, &position, comm);
        } else {
            MPI_Unpack(bench->packed, bytes, &position, bench->spread, 1, bench->type, comm);
        }
    }
    return harness_now_us() - begin_us;
}

// A figure of a library that loses bytes is worth nothing.
static void verify(const Bench* bench, bool packs)
{
    for (int i = 0; i < doubles; ++i) {
        bench->spread[i * stride] = packs ? i : -1.0;
        bench->packed[i] = packs ? -1.0 : i;
    }
    time_all(bench, packs);
    for (int i = 0; i < doubles; ++i) {
        if (bench->spread[i * stride] != i || bench->packed[i] != i)
            harness_fail(bench->harness, "packing lost bytes");
    }
}

static void* wait_for_message(void* harness)
{
    const Harness* const own = harness;
    MPI_Recv(NULL, 0, MPI_BYTE, own->rank, tag, own->comm, MPI_STATUS_IGNORE);
    return NULL;
}

static double time_beside(Bench* bench, bool packs, bool verifies)
{
    pthread_t threads[waiters_max];
    double time_us = 0.0;
    for (int i = 0; i < bench->waiters; ++i) {
        if (pthread_create(&threads[i], NULL, wait_for_message, (void*)bench->harness) != 0)
            harness_fail(bench->harness, "no thread");
    }
    usleep(2000);  // until they sleep: nothing says so but time, of which this is plenty
    if (verifies) {
        verify(bench, packs);
    } else {
        time_us = time_all(bench, packs);
    }
    for (int i = 0; i < bench->waiters; ++i)
        MPI_Send(NULL, 0, MPI_BYTE, bench->harness->rank, tag, bench->harness->comm);
    for (int i = 0; i < bench->waiters; ++i)
        pthread_join(threads[i], NULL);
    return time_us;
}

int main(int argc, char** argv)
{
    static const struct {
        const char* name;
        bool packs;
        int waiters;
    } cases[] = {{"unpack 10 MB", false, 1},
                 {"pack 10 MB", true, 1},
                 {"unpack 10 MB, 4 threads", false, waiters_max},
                 {"pack 10 MB, 4 threads", true, waiters_max}};
    double ratios[samples];
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    Bench bench = {.harness = &harness,
                   .spread = calloc((size_t)doubles * stride, sizeof(double)),
                   .packed = calloc(doubles, sizeof(double))};
    if (bench.spread == NULL || bench.packed == NULL)
        harness_fail(&harness, "no memory");
    MPI_Type_vector(doubles, 1, stride, MPI_DOUBLE, &bench.type);
    MPI_Type_commit(&bench.type);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        if (!harness_wants(&harness, cases[c].name))
            continue;
        bench.waiters = cases[c].waiters;
        (void)time_beside(&bench, cases[c].packs, true);
        for (int i = 0; i < samples; ++i) {
            const double alone_us = time_all(&bench, cases[c].packs);
            ratios[i] = time_beside(&bench, cases[c].packs, false) / alone_us;
        }
        harness_emit(&harness, cases[c].name, "ratio", "ratio", ratios, samples);
    }
    MPI_Type_free(&bench.type);
    free(bench.spread);
    free(bench.packed);
    return harness_end(&harness);
}
