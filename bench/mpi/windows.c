// SPDX-License-Identifier: Apache-2.0
// Bandwidth and message rate from rank 0 to rank 1: windows of non-blocking messages, each window
// answered by an empty message. Short messages are counted, longer ones weighed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { page = 4096, window_max = 64, in_flight_max = 4 << 20, short_most = 64 };

typedef struct {
    const Harness* harness;
    unsigned char* bytes;  // `window` messages side by side
    int size_bytes;
    int window;
} Stream;

static void send_windows(void* context, long repeats)
{
    const Stream* const stream = context;
    const int is_sender = stream->harness->rank == 0;
    MPI_Request requests[window_max];
    for (long count = 0; count < repeats; ++count) {
        for (int i = 0; i < stream->window; ++i) {
            unsigned char* const message = stream->bytes + (size_t)i * (size_t)stream->size_bytes;
            if (is_sender) {
                MPI_Isend(message, stream->size_bytes, MPI_BYTE, 1, 1, stream->harness->comm,
                          &requests[i]);
            } else {
                MPI_Irecv(message, stream->size_bytes, MPI_BYTE, 0, 1, stream->harness->comm,
                          &requests[i]);
            }
        }
        MPI_Waitall(stream->window, requests, MPI_STATUSES_IGNORE);
        if (is_sender) {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, stream->harness->comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, stream->harness->comm);
        }
    }
}

static unsigned char pattern(size_t index)
{
    return (unsigned char)(7 * index + index / 251 + 1);
}

// One window whose bytes are compared: a figure of a library that loses bytes is worth nothing.
static void verify(Stream* stream)
{
    const size_t total = (size_t)stream->window * (size_t)stream->size_bytes;
    for (size_t index = 0; index < total; ++index)
        stream->bytes[index] = stream->harness->rank == 0 ? pattern(index) : 0;
    send_windows(stream, 1);
    for (size_t index = 0; index < total; ++index) {
        if (stream->bytes[index] == pattern(index))
            continue;
        harness_fail(stream->harness, "a stream of messages delivered wrong bytes");
    }
}

static void measure(Stream* stream)
{
    static double samples[harness_samples_max];
    char name[32];
    harness_size_name((size_t)stream->size_bytes, name, sizeof name);
    if (!harness_wants(stream->harness, name))
        return;
    const int in_flight = in_flight_max / stream->size_bytes;
    stream->window = in_flight < 2 ? 2 : in_flight > window_max ? window_max : in_flight;
    verify(stream);
    const int count = harness_sample(stream->harness, send_windows, stream, samples);
    const bool is_short = stream->size_bytes <= short_most;
    const double window = (double)stream->window * (is_short ? 1 : stream->size_bytes);
    for (int index = 0; index < count; ++index)
        samples[index] = window / samples[index];
    if (is_short) {
        harness_emit(stream->harness, name, "rate_mps", "1/us", samples, count);
    } else {
        harness_emit(stream->harness, name, "bandwidth_mbs", "MB/s", samples, count);
    }
}

int main(int argc, char** argv)
{
    static const int sizes_bytes[] = {8, 64, 4096, 65536, 1 << 20, 16 << 20};
    enum { size_count = sizeof sizes_bytes / sizeof sizes_bytes[0] };
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    if (harness.ranks != 2)
        harness_fail(&harness, "windows needs exactly 2 ranks: mpiexec -n 2");
    void* bytes = NULL;
    if (posix_memalign(&bytes, page, (size_t)2 * (size_t)sizes_bytes[size_count - 1]) != 0)
        harness_fail(&harness, "no memory");
    for (int index = 0; index < size_count; ++index) {
        Stream stream = {&harness, bytes, sizes_bytes[index], 0};
        measure(&stream);
    }
    free(bytes);
    return harness_end(&harness);
}
