// SPDX-License-Identifier: Apache-2.0
// What one core copies within a process: rank 0 copies windows from one buffer to another while
// rank 1 waits. As many bytes in flight as in windows.c, so that caches see the same.
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { page = 4096, window_max = 64, in_flight_max = 4 << 20 };

typedef struct {
    const Harness* harness;
    unsigned char* from;
    unsigned char* to;
    size_t size_bytes;
    size_t window;
} Loop;

static void copy_windows(void* context, long repeats)
{
    const Loop* const loop = context;
    if (loop->harness->rank != 0)
        return;
    for (long count = 0; count < repeats; ++count) {
        for (size_t i = 0; i < loop->window; ++i)
            memcpy(loop->to + i * loop->size_bytes, loop->from + i * loop->size_bytes,
                   loop->size_bytes);
    }
}

static void measure(Loop* loop)
{
    static double samples[harness_samples_max];
    char name[32];
    harness_size_name(loop->size_bytes, name, sizeof name);
    if (!harness_wants(loop->harness, name))
        return;
    const size_t in_flight = in_flight_max / loop->size_bytes;
    loop->window = in_flight < 2 ? 2 : in_flight > window_max ? window_max : in_flight;
    const size_t total = loop->window * loop->size_bytes;
    for (size_t index = 0; index < total; ++index)
        loop->from[index] = (unsigned char)(7 * index + index / 251 + 1);
    memset(loop->to, 0, total);
    copy_windows(loop, 1);
    if (loop->harness->rank == 0 && memcmp(loop->from, loop->to, total) != 0)
        harness_fail(loop->harness, "memcpy copied wrong bytes");
    const int count = harness_sample(loop->harness, copy_windows, loop, samples);
    for (int index = 0; index < count; ++index)
        samples[index] = (double)total / samples[index];
    harness_emit(loop->harness, name, "bandwidth_mbs", "MB/s", samples, count);
}

int main(int argc, char** argv)
{
    static const size_t sizes_bytes[] = {65536, 1 << 20, 16 << 20};
    enum { size_count = sizeof sizes_bytes / sizeof sizes_bytes[0] };
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    const size_t room = 2 * sizes_bytes[size_count - 1];
    void* from = NULL;
    void* to = NULL;
    if (posix_memalign(&from, page, room) != 0 || posix_memalign(&to, page, room) != 0)
        harness_fail(&harness, "no memory");
    for (int index = 0; index < size_count; ++index) {
        Loop loop = {&harness, from, to, sizes_bytes[index], 0};
        measure(&loop);
    }
    free(from);
    free(to);
    return harness_end(&harness);
}
