// SPDX-License-Identifier: Apache-2.0
// Long messages from rank 0 to rank 1 over memory that stays, and over memory that is mapped anew
// for each of them; every byte is checked. Prints the counts of both ranks.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { bytes = 1 << 20, messages = 20 };

static int rank;

static void require(int holds, const char* what)
{
    if (!holds) {
        fprintf(stderr, "regions: rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static unsigned char* map(void* where)
{
    const int fixed = where != NULL ? MAP_FIXED_NOREPLACE : 0;
    void* found =
        mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    require(found != MAP_FAILED, "there is no memory");
    return found;
}

static unsigned char value(int round, int i)
{
    return (unsigned char)(round * 37 + i % 253 + (i >> 12));
}

/// Rank 0's buffer gets to rank 1.
static void pass(unsigned char* data, int round)
{
    if (rank == 0) {
        for (int i = 0; i < bytes; ++i)
            data[i] = value(round, i);
        MPI_Send(data, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD);
    } else {
        MPI_Recv(data, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < bytes; ++i)
            require(data[i] == value(round, i), "a byte is not the one that was sent");
    }
}

enum { names_count = 4 };
static const char* const names[names_count] = {"network_region_hits", "network_region_misses",
                                               "network_region_evictions",
                                               "network_region_invalidations"};
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[names_count];

static void begin_counts(void)
{
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < names_count; ++i) {
        int index = 0, count = 0;
        require(MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS,
                names[i]);
        MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count);
        MPI_T_pvar_start(session, handles[i]);
    }
}

static void print_counts(void)
{
    for (int i = 0; i < names_count; ++i) {
        uint64_t count = 0;
        MPI_T_pvar_read(session, handles[i], &count);
        printf("regions: rank %d %s %llu\n", rank, names[i], (unsigned long long)count);
    }
    MPI_T_pvar_session_free(&session);
}

int main(int argc, char** argv)
{
    int provided = 0;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin_counts();
    unsigned char* data = map(NULL);
    for (int round = 0; round < messages; ++round)
        pass(data, round);
    for (int round = 0; round < messages; ++round) {
        munmap(data, bytes);
        data = map(data);
        pass(data, round);
    }
    print_counts();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_T_finalize();
    MPI_Finalize();
    munmap(data, bytes);
    return 0;
}
