// SPDX-License-Identifier: Apache-2.0
// What an OpenMP runtime makes of the settings that a rank has: its places, and on which cpus its
// threads may run.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

int main(void)
{
    for (int place = 0; place < omp_get_num_places(); ++place) {
        int cpus[CPU_SETSIZE];
        omp_get_place_proc_ids(place, cpus);
        printf("place");
        for (int i = 0; i < omp_get_place_num_procs(place); ++i)
            printf(" %d", cpus[i]);
        printf("\n");
    }
#pragma omp parallel
    {
        cpu_set_t allowed;
        CPU_ZERO(&allowed);
        sched_getaffinity(0, sizeof allowed, &allowed);
#pragma omp critical
        {
            printf("thread");
            for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
                if (CPU_ISSET(cpu, &allowed))
                    printf(" %d", cpu);
            }
            printf("\n");
        }
    }
    return 0;
}
