// SPDX-License-Identifier: Apache-2.0
// One-way latency: half the round-trip time of a ping-pong of blocking calls between two ranks.
// "written": each message is written before it is sent, as programs do, and the time holds that
// too. Else the same bytes go again and again, of which the receiver's core may still have those of
// the last message: that is a copy less for a library whose receivers read their sender's buffer.
// "posted": MPI_Irecv before the message is sent, then MPI_Send and MPI_Wait.
// "exchanged", "crossed": no ping-pong, but the time of an MPI_Sendrecv, or of MPI_Isend, MPI_Recv
// and MPI_Wait, of both ranks at once.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

typedef enum { way_blocking, way_posted, way_exchanged, way_crossed, way_written, ways } Way;

static const char* const way_names[ways] = {"", ", posted", ", exchanged", ", crossed",
                                            ", written"};

typedef struct {
    MPI_Comm comm;
    int rank;
    int size_bytes;
    unsigned char* outgoing;
    unsigned char* incoming;
    Way way;
} PingPong;

static void send(const PingPong* pair, int peer, long number)
{
    if (pair->way == way_written)
        memset(pair->outgoing, (int)(number % 251), (size_t)pair->size_bytes);
    MPI_Send(pair->outgoing, pair->size_bytes, MPI_BYTE, peer, 1, pair->comm);
}

static void post(const PingPong* pair, MPI_Request* request)
{
    MPI_Irecv(pair->incoming, pair->size_bytes, MPI_BYTE, 1 - pair->rank, 1, pair->comm, request);
}

static void ping_pong_posted(const PingPong* pair, long repeats)
{
    const int peer = 1 - pair->rank;
    MPI_Request request = MPI_REQUEST_NULL;
    if (pair->rank == 1)
        post(pair, &request);
    for (long count = 0; count < repeats; ++count) {
        if (pair->rank == 0) {
            post(pair, &request);
            send(pair, peer, count);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (pair->rank == 1) {
            if (count + 1 < repeats)
                post(pair, &request);
            send(pair, peer, count);
        }
    }
}

static void exchange(const PingPong* pair, long repeats)
{
    const int peer = 1 - pair->rank;
    for (long count = 0; count < repeats; ++count) {
        MPI_Sendrecv(pair->outgoing, pair->size_bytes, MPI_BYTE, peer, 1, pair->incoming,
                     pair->size_bytes, MPI_BYTE, peer, 1, pair->comm, MPI_STATUS_IGNORE);
    }
}

static void cross(const PingPong* pair, long repeats)
{
    const int peer = 1 - pair->rank;
    for (long count = 0; count < repeats; ++count) {
        MPI_Request request;
        MPI_Isend(pair->outgoing, pair->size_bytes, MPI_BYTE, peer, 1, pair->comm, &request);
        MPI_Recv(pair->incoming, pair->size_bytes, MPI_BYTE, peer, 1, pair->comm,
                 MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void ping_pong(const PingPong* pair, long repeats)
{
    const int peer = 1 - pair->rank;
    for (long count = 0; count < repeats; ++count) {
        if (pair->rank == 0) {
            send(pair, peer, count);
        }
        MPI_Recv(pair->incoming, pair->size_bytes, MPI_BYTE, peer, 1, pair->comm,
                 MPI_STATUS_IGNORE);
        if (pair->rank == 1) {
            send(pair, peer, count);
        }
    }
}

static void run(void* context, long repeats)
{
    static void (*const runs[ways])(const PingPong*, long) = {ping_pong, ping_pong_posted, exchange,
                                                              cross, ping_pong};
    const PingPong* const pair = context;
    runs[pair->way](pair, repeats);
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
    const Way way = pair->way;
    pair->way = way == way_written ? way_blocking : way;
    run(pair, 1);
    pair->way = way;
    for (int index = 0; index < pair->size_bytes; ++index) {
        if (pair->incoming[index] == pattern(1 - pair->rank, index))
            continue;
        harness_fail(harness, "a ping-pong delivered wrong bytes");
    }
}

static void measure(const Harness* harness, PingPong* pair)
{
    static double samples_us[harness_samples_max];
    char size_name[16];
    char name[32];
    harness_size_name((size_t)pair->size_bytes, size_name, sizeof size_name);
    (void)snprintf(name, sizeof name, "%s%s", size_name, way_names[pair->way]);
    if (!harness_wants(harness, name))
        return;
    verify(harness, pair);
    const int count = harness_sample(harness, run, pair, samples_us);
    const int is_at_once = pair->way == way_exchanged || pair->way == way_crossed;
    for (int index = 0; index < count; ++index)
        samples_us[index] /= is_at_once ? 1.0 : 2.0;
    harness_emit(harness, name, "oneway_us", "us", samples_us, count);
}

int main(int argc, char** argv)
{
    static const int sizes_bytes[] = {0, 8, 64, 1024, 4096, 16384, 32768, 65536, 262144, 1048576};
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
    enum { written_from = 65536 };
    for (int index = 0; index < size_count; ++index) {
        for (Way way = way_blocking; way < ways; ++way) {
            PingPong pair = {harness.comm, harness.rank, sizes_bytes[index],
                             outgoing,     incoming,     way};
            if (way != way_written || pair.size_bytes >= written_from)
                measure(&harness, &pair);
        }
    }
    free(outgoing);
    free(incoming);
    return harness_end(&harness);
}
