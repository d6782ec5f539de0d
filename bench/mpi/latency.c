// SPDX-License-Identifier: Apache-2.0
// One-way latency: half the round-trip time of a ping-pong of blocking calls between two ranks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

typedef struct {
    MPI_Comm comm;
    int rank;
    int size_bytes;
    unsigned char* outgoing;
    unsigned char* incoming;
} PingPong;

static void ping_pong(void* context, long repeats)
{
    const PingPong* const pair = context;
    const int peer = 1 - pair->rank;
    for (long count = 0; count < repeats; ++count) {
        if (pair->rank == 0) {
            MPI_Send(pair->outgoing, pair->size_bytes, MPI_BYTE, peer, 1, pair->comm);
        }
        MPI_Recv(pair->incoming, pair->size_bytes, MPI_BYTE, peer, 1, pair->comm,
                 MPI_STATUS_IGNORE);
        if (pair->rank == 1) {
            MPI_Send(pair->outgoing, pair->size_bytes, MPI_BYTE, peer, 1, pair->comm);
        }
    }
}

static unsigned char pattern(int rank, int index)
{
    return (unsigned char)(131 * rank + 7 * index + index / 251 + 1);
}

// One exchange whose bytes are compared: a figure of a library that loses bytes is worth nothing.
static void verify(const Harness* harness, PingPong* pair)
{
    for (int index = 0; index < pair->size_bytes; ++index) {
        pair->outgoing[index] = pattern(pair->rank, index);
        pair->incoming[index] = 0;
    }
    ping_pong(pair, 1);
    for (int index = 0; index < pair->size_bytes; ++index) {
        if (pair->incoming[index] == pattern(1 - pair->rank, index))
            continue;
        harness_fail(harness, "a ping-pong delivered wrong bytes");
    }
}

static void measure(const Harness* harness, PingPong* pair)
{
    static double samples_us[harness_samples_max];
    char name[32];
    harness_size_name((size_t)pair->size_bytes, name, sizeof name);
    if (!harness_wants(harness, name))
        return;
    verify(harness, pair);
    const int count = harness_sample(harness, ping_pong, pair, samples_us);
    for (int index = 0; index < count; ++index)
        samples_us[index] /= 2.0;
    harness_emit(harness, name, "oneway_us", "us", samples_us, count);
}

int main(int argc, char** argv)
{
    static const int sizes_bytes[] = {0, 8, 64, 1024, 4096, 16384, 65536, 1048576};
    enum { size_count = sizeof sizes_bytes / sizeof sizes_bytes[0], page = 4096 };
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    if (harness.ranks != 2)
        harness_fail(&harness, "latency needs exactly 2 ranks: mpiexec -n 2");
    const size_t room = (size_t)sizes_bytes[size_count - 1];
    void* outgoing = NULL;
    void* incoming = NULL;
    if (posix_memalign(&outgoing, page, room) != 0 || posix_memalign(&incoming, page, room) != 0) {
        harness_fail(&harness, "no memory");
    }
    for (int index = 0; index < size_count; ++index) {
        PingPong pair = {harness.comm, harness.rank, sizes_bytes[index], outgoing, incoming};
        measure(&harness, &pair);
    }
    free(outgoing);
    free(incoming);
    return harness_end(&harness);
}
