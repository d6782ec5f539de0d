// SPDX-License-Identifier: Apache-2.0
// What one core can copy from another process: rank 0 reads the buffers of rank 1, which sleeps, by
// process_vm_readv in a loop. As many bytes in flight as in windows.c, so that caches see the same.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "harness.h"

enum { page = 4096, window_max = 64, in_flight_max = 4 << 20 };

typedef struct {
    const Harness* harness;
    pid_t owner;
    uint64_t address;  // of the owner's bytes
    unsigned char* bytes;
    int size_bytes;
    int window;
} Loop;

// Reads one message; a call may stop early. Returns 0 or an error number.
static int read_message(const Loop* loop, size_t offset)
{
    size_t done = 0;
    while (done < (size_t)loop->size_bytes) {
        const size_t left = (size_t)loop->size_bytes - done;
        struct iovec to = {loop->bytes + offset + done, left};
        struct iovec from = {(void*)(uintptr_t)(loop->address + offset + done), left};
        const ssize_t count = process_vm_readv(loop->owner, &to, 1, &from, 1, 0);
        if (count <= 0)
            return count == 0 ? EFAULT : errno;
        done += (size_t)count;
    }
    return 0;
}

static void read_windows(void* context, long repeats)
{
    const Loop* const loop = context;
    if (loop->harness->rank != 0)
        return;
    for (long count = 0; count < repeats; ++count) {
        for (int i = 0; i < loop->window; ++i) {
            if (read_message(loop, (size_t)i * (size_t)loop->size_bytes) != 0)
                harness_fail(loop->harness, "process_vm_readv failed half-way");
        }
    }
}

static unsigned char pattern(size_t index)
{
    return (unsigned char)(7 * index + index / 251 + 1);
}

// Whether rank 0 may read; the same on both ranks. Ends the job if it reads wrong bytes.
static int try_once(Loop* loop)
{
    const size_t total = (size_t)loop->window * (size_t)loop->size_bytes;
    for (size_t index = 0; index < total; ++index)
        loop->bytes[index] = loop->harness->rank == 1 ? pattern(index) : 0;
    MPI_Barrier(loop->harness->comm);
    int error = 0;
    if (loop->harness->rank == 0) {
        error = read_message(loop, 0);
        if (error == 0)
            read_windows(loop, 1);
        for (size_t index = 0; error == 0 && index < total; ++index) {
            if (loop->bytes[index] != pattern(index))
                harness_fail(loop->harness, "process_vm_readv delivered wrong bytes");
        }
    }
    MPI_Bcast(&error, 1, MPI_INT, 0, loop->harness->comm);
    return error == 0;
}

static void measure(Loop* loop)
{
    static double samples[harness_samples_max];
    char name[32];
    harness_size_name((size_t)loop->size_bytes, name, sizeof name);
    if (!harness_wants(loop->harness, name))
        return;
    const int in_flight = in_flight_max / loop->size_bytes;
    loop->window = in_flight < 2 ? 2 : in_flight > window_max ? window_max : in_flight;
    if (!try_once(loop)) {
        harness_skip(loop->harness, name, "process_vm_readv is not permitted here");
        return;
    }
    const int count = harness_sample(loop->harness, read_windows, loop, samples);
    MPI_Barrier(loop->harness->comm);  // until here rank 1 keeps its bytes, asleep
    for (int index = 0; index < count; ++index)
        samples[index] = (double)loop->window * loop->size_bytes / samples[index];
    harness_emit(loop->harness, name, "bandwidth_mbs", "MB/s", samples, count);
}

int main(int argc, char** argv)
{
    static const int sizes_bytes[] = {65536, 1 << 20, 16 << 20};
    enum { size_count = sizeof sizes_bytes / sizeof sizes_bytes[0] };
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    if (harness.ranks != 2)
        harness_fail(&harness, "readv needs exactly 2 ranks: mpiexec -n 2");
    void* bytes = NULL;
    if (posix_memalign(&bytes, page, (size_t)2 * (size_t)sizes_bytes[size_count - 1]) != 0)
        harness_fail(&harness, "no memory");
#ifdef PR_SET_PTRACER
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
    uint64_t place[2] = {(uint64_t)getpid(), (uint64_t)(uintptr_t)bytes};
    MPI_Bcast(place, 2, MPI_UINT64_T, 1, harness.comm);
    for (int index = 0; index < size_count; ++index) {
        Loop loop = {&harness, (pid_t)place[0], place[1], bytes, sizes_bytes[index], 0};
        measure(&loop);
    }
    free(bytes);
    return harness_end(&harness);
}
