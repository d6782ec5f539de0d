// SPDX-License-Identifier: Apache-2.0
// Memory of a process that hosts all ranks: what /proc/self/smaps_rollup says is resident when all
// ranks have done an allreduce and wait in a barrier, but the one that reads. Case: "waiting".
#include <stdio.h>

#include "harness.h"

// Of this process; negative where the kernel does not say.
static double read_resident_kib(void)
{
    FILE* const file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    double resident_kib = -1.0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        sscanf(line, "Rss: %lf kB", &resident_kib);
    if (file != NULL)
        fclose(file);
    return resident_kib;
}

int main(int argc, char** argv)
{
    static const char* const name = "waiting";
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    int mine = 1;
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, harness.comm);
    if (all != harness.ranks)
        harness_fail(&harness, "an allreduce has a wrong sum");
    double resident_kib = 0.0;
    if (harness.rank == 0) {
        // The others are on their way into the barrier; where a message stands does not matter.
        resident_kib = read_resident_kib();
    }
    MPI_Barrier(harness.comm);
    if (harness.rank == 0 && resident_kib < 0.0) {
        harness_skip(&harness, name, "the kernel does not say it in /proc/self/smaps_rollup");
    } else {
        harness_emit(&harness, name, "resident_kib", "KiB", &resident_kib, 1);
    }
    return harness_end(&harness);
}
