// SPDX-License-Identifier: Apache-2.0
// Memory of a rank: the mean over all ranks of what /proc/self/smaps_rollup says (Pss: a page that
// n processes share counts 1/n in each), after every pair has exchanged 8 B and 1 MiB, all ranks
// still there. A single rank exchanges with nobody; its buffers are as large. pss_kib is all of it;
// own_kib leaves out pages of files, which are mostly programs and libraries and the less of which
// is counted the more ranks map them. Case: "after exchanges".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { page = 4096, large_bytes = 1 << 20, small_bytes = 8 };

typedef struct {
    double pss_kib;
    double own_kib;
} Memory;

// Of this process; negative where the kernel does not say.
static Memory read_memory(void)
{
    Memory found = {-1.0, -1.0};
    FILE* const file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double anonymous_kib = -1.0;
    double shared_kib = -1.0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "Pss: %lf kB", &found.pss_kib);
        sscanf(line, "Pss_Anon: %lf kB", &anonymous_kib);
        sscanf(line, "Pss_Shmem: %lf kB", &shared_kib);
    }
    if (file != NULL)
        fclose(file);
    if (anonymous_kib >= 0.0 && shared_kib >= 0.0)
        found.own_kib = anonymous_kib + shared_kib;
    return found;
}

static void exchange(const Harness* harness, int distance, int size_bytes, unsigned char* out,
                     unsigned char* in)
{
    const int to = (harness->rank + distance) % harness->ranks;
    const int from = (harness->rank + harness->ranks - distance) % harness->ranks;
    memset(out, 1 + harness->rank % 250, (size_t)size_bytes);
    memset(in, 0, (size_t)size_bytes);
    MPI_Sendrecv(out, size_bytes, MPI_BYTE, to, 1, in, size_bytes, MPI_BYTE, from, 1, harness->comm,
                 MPI_STATUS_IGNORE);
    for (int index = 0; index < size_bytes; ++index) {
        if (in[index] != 1 + from % 250)
            harness_fail(harness, "an exchange delivered wrong bytes");
    }
}

static void report(const Harness* harness, const char* metric, double mine_kib)
{
    static const char* const name = "after exchanges";
    double least_kib = 0.0;
    double sum_kib = 0.0;
    MPI_Reduce(&mine_kib, &least_kib, 1, MPI_DOUBLE, MPI_MIN, 0, harness->comm);
    MPI_Reduce(&mine_kib, &sum_kib, 1, MPI_DOUBLE, MPI_SUM, 0, harness->comm);
    const double mean_kib = sum_kib / harness->ranks;
    if (harness->rank == 0 && least_kib < 0.0) {
        harness_skip(harness, name, "the kernel does not say it in /proc/self/smaps_rollup");
    } else {
        harness_emit(harness, name, metric, "KiB", &mean_kib, 1);
    }
}

int main(int argc, char** argv)
{
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    void* out = NULL;
    void* in = NULL;
    if (posix_memalign(&out, page, large_bytes) != 0 || posix_memalign(&in, page, large_bytes) != 0)
        harness_fail(&harness, "no memory");
    memset(out, 1, large_bytes);
    memset(in, 1, large_bytes);
    for (int distance = 1; distance < harness.ranks; ++distance) {
        exchange(&harness, distance, small_bytes, out, in);
        exchange(&harness, distance, large_bytes, out, in);
    }
    MPI_Barrier(harness.comm);
    const Memory mine = read_memory();
    // Nobody may have left while another still reads.
    MPI_Barrier(harness.comm);
    report(&harness, "pss_kib", mine.pss_kib);
    report(&harness, "own_kib", mine.own_kib);
    free(out);
    free(in);
    return harness_end(&harness);
}
