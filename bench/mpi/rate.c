// SPDX-License-Identifier: Apache-2.0
// Message rate from rank 0 to rank 1: windows of 64 short non-blocking messages, each window
// answered by an empty message.
#include <stdio.h>
#include <string.h>

#include "harness.h"

enum { window = 64, size_max = 64 };

typedef struct {
    const Harness* harness;
    int size_bytes;
    unsigned char bytes[window][size_max];
} Burst;

static void send_bursts(void* context, long repeats)
{
    Burst* const burst = context;
    const int is_sender = burst->harness->rank == 0;
    MPI_Request requests[window];
    for (long count = 0; count < repeats; ++count) {
        for (int i = 0; i < window; ++i) {
            if (is_sender) {
                MPI_Isend(burst->bytes[i], burst->size_bytes, MPI_BYTE, 1, 1, burst->harness->comm,
                          &requests[i]);
            } else {
                MPI_Irecv(burst->bytes[i], burst->size_bytes, MPI_BYTE, 0, 1, burst->harness->comm,
                          &requests[i]);
            }
        }
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
        if (is_sender) {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, burst->harness->comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, burst->harness->comm);
        }
    }
}

static void verify(Burst* burst)
{
    for (int i = 0; i < window; ++i)
        memset(burst->bytes[i], burst->harness->rank == 0 ? i + 1 : 0, size_max);
    send_bursts(burst, 1);
    for (int i = 0; i < window; ++i) {
        if (burst->bytes[i][0] == i + 1 && burst->bytes[i][burst->size_bytes - 1] == i + 1)
            continue;
        harness_fail(burst->harness, "a window of messages delivered wrong bytes");
    }
}

static void measure(Burst* burst)
{
    static double samples[harness_samples_max];
    char name[32];
    harness_size_name((size_t)burst->size_bytes, name, sizeof name);
    if (!harness_wants(burst->harness, name))
        return;
    verify(burst);
    const int count = harness_sample(burst->harness, send_bursts, burst, samples);
    for (int index = 0; index < count; ++index)
        samples[index] = window / samples[index];
    harness_emit(burst->harness, name, "rate_mps", "1/us", samples, count);
}

int main(int argc, char** argv)
{
    static const int sizes_bytes[] = {8, 64};
    static Burst burst;
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    if (harness.ranks != 2)
        harness_fail(&harness, "rate needs exactly 2 ranks: mpiexec -n 2");
    burst.harness = &harness;
    for (size_t index = 0; index < sizeof sizes_bytes / sizeof sizes_bytes[0]; ++index) {
        burst.size_bytes = sizes_bytes[index];
        measure(&burst);
    }
    return harness_end(&harness);
}
