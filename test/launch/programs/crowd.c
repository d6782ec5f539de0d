/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many ranks at once: a ring, barriers, pairs drawn at random, and turns that all must get while
 * nobody stops. With an argument no rank reads what another one has written, as processes cannot.
 */
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ring_rounds = 3, barrier_rounds = 10, pair_rounds = 20, words_max = 4096, turns = 50 };

static int rank;
static int ranks;
static long faults;

static uint64_t draw(uint64_t* state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A token goes round and grows. */
static void go_round(void)
{
    for (int round = 0; round < ring_rounds; round++) {
        long token = 0;
        if (rank > 0) {
            MPI_Recv(&token, 1, MPI_LONG, rank - 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        token += rank;
        MPI_Send(&token, 1, MPI_LONG, (rank + 1) % ranks, round, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Recv(&token, 1, MPI_LONG, ranks - 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            faults += token != (long)ranks * (ranks - 1) / 2;
        }
    }
}

static void meet(void)
{
    for (long round = 0; round < barrier_rounds; round++) {
        long sum = rank + round;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        faults += sum != (long)ranks * (ranks - 1) / 2 + ranks * round;
    }
}

/* All draw the same order of ranks; those at places 2i and 2i + 1 exchange messages, of lengths
 * that they know from it too. */
static void pair_up(void)
{
    static int32_t sent[words_max];
    static int32_t got[words_max];
    int* const order = malloc((size_t)ranks * sizeof *order);
    uint64_t state = 42;
    for (int i = 0; i < ranks; i++) {
        order[i] = i;
    }
    for (int round = 0; round < pair_rounds; round++) {
        int own = 0;
        for (int i = ranks - 1; i >= 0; i--) {
            const int other = (int)(draw(&state) % (uint64_t)(i + 1));
            const int kept = order[i];
            order[i] = order[other];
            order[other] = kept;
        }
        for (int i = 0; i < ranks; i++) {
            own = order[i] == rank ? i : own;
        }
        const int partner = own % 2 == 0 ? own + 1 : own - 1;
        if (partner >= ranks) {
            continue;
        }
        const int peer = order[partner];
        const int words = 1 + (own / 2 * 577 + round * 131) % words_max;
        for (int i = 0; i < words; i++) {
            sent[i] = rank * 1000 + round + i;
        }
        MPI_Status status;
        int count = 0;
        MPI_Sendrecv(sent, words, MPI_INT32_T, peer, round, got, words_max, MPI_INT32_T, peer,
                     round, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT32_T, &count);
        faults += count != words;
        for (int i = 0; i < count; i++) {
            faults += got[i] != peer * 1000 + round + i;
        }
    }
    free(order);
}

/* Each counts its turns in memory that all read, and goes on until the last one has had its share:
 * without end, if one were passed over. */
static void take_turns(void)
{
    int* counts = NULL;
    if (rank == 0) {
        MPI_Alloc_mem((MPI_Aint)sizeof(int) * ranks, MPI_INFO_NULL, &counts);
        for (int i = 0; i < ranks; i++) {
            counts[i] = 0;
        }
    }
    MPI_Bcast(&counts, sizeof counts, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int low = 0; low < ranks;) {
        __atomic_add_fetch(&counts[rank], 1, __ATOMIC_RELAXED);
        while (low < ranks && __atomic_load_n(&counts[low], __ATOMIC_RELAXED) >= turns) {
            low++;
        }
        sched_yield();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Free_mem(counts);
    }
}

int main(int count, char** words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    go_round();
    meet();
    pair_up();
    if (count == 1) {
        take_turns();
    }
    long all = 0;
    MPI_Reduce(&faults, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf(all == 0 ? "all is well\n" : "%ld faults\n", all);
    }
    MPI_Finalize();
    return 0;
}
