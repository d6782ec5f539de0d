// SPDX-License-Identifier: Apache-2.0
// The first messages of a job: rank 0 sends 32 and waits for an empty answer to each. A job
// measures one case, once; the rounds of the driver give the spread.
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { messages = 32, page = 4096 };

static void exchange(MPI_Comm comm, int rank, unsigned char* bytes, int size_bytes)
{
    if (rank == 0) {
        MPI_Send(bytes, size_bytes, MPI_BYTE, 1, 1, comm);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(bytes, size_bytes, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, comm);
    }
}

static void measure(const Harness* harness, int size_bytes)
{
    char name[16];
    harness_size_name((size_t)size_bytes, name, sizeof name);
    if (!harness_wants(harness, name))
        return;
    void* bytes = NULL;
    if (posix_memalign(&bytes, page, (size_t)size_bytes) != 0)
        harness_fail(harness, "no memory");
    memset(bytes, 1 + harness->rank, (size_t)size_bytes);
    MPI_Barrier(harness->comm);
    const double begin_us = harness_now_us();
    for (int i = 0; i < messages; ++i)
        exchange(harness->comm, harness->rank, bytes, size_bytes);
    const double together_us = harness_now_us() - begin_us;
    if (((unsigned char*)bytes)[size_bytes - 1] != 1)
        harness_fail(harness, "a message delivered wrong bytes");
    harness_emit(harness, name, "together_us", "us", &together_us, 1);
    free(bytes);
}

int main(int argc, char** argv)
{
    Harness harness;
    if (harness_begin(&argc, &argv, &harness) && harness.rank < 2) {
        measure(&harness, 4096);
        measure(&harness, 65536);
        measure(&harness, 1048576);
    }
    return harness_end(&harness);
}
