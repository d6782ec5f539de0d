// SPDX-License-Identifier: Apache-2.0
// Many more ranks than cores: all come to their turn, whatever they wait for and however long the
// others take. What grows with the square of the ranks is left out, so that a thousand can do it.
#include "../check.h"

enum { group_ranks_max = 7, long_bytes = 100000 };

// A number travels around; a rank that starved would stop it.
static void ring(struct check* t, int rounds)
{
    const int next = (t->rank + 1) % t->size, before = (t->rank + t->size - 1) % t->size;
    for (int round = 0; round < rounds; ++round) {
        int number = round;
        if (t->rank == 0) {
            CHECK_CALL(t, MPI_Send(&number, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
        }
        CHECK_CALL(t, MPI_Recv(&number, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (t->rank != 0) {
            ++number;
            CHECK_CALL(t, MPI_Send(&number, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
        } else {
            CHECK_INT(t, number, round + t->size - 1);
        }
    }
}

// Long messages between neighbours at once, in both directions.
static void neighbours(struct check* t)
{
    const int next = (t->rank + 1) % t->size, before = (t->rank + t->size - 1) % t->size;
    unsigned char* out = check_memory(long_bytes);
    unsigned char* in = check_memory(long_bytes);
    check_fill(out, long_bytes, (uint64_t)t->rank);
    CHECK_CALL(t, MPI_Sendrecv(out, long_bytes, MPI_BYTE, next, 2, in, long_bytes, MPI_BYTE, before,
                               2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_PATTERN(t, in, long_bytes, (uint64_t)before);
    free(out);
    free(in);
}

// Rank 0 hears of everybody, in whatever order, each time after it has heard of nobody.
static void all_to_one(struct check* t)
{
    if (t->rank != 0) {
        CHECK_CALL(t, MPI_Send(&t->rank, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
        return;
    }
    long long sum = 0;
    for (int i = 1; i < t->size; ++i) {
        MPI_Status status;
        int number = 0;
        CHECK_CALL(t, MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status));
        CHECK_CALL(t, MPI_Recv(&number, 1, MPI_INT, status.MPI_SOURCE, 3, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
        CHECK_INT(t, number, status.MPI_SOURCE);
        sum += number;
    }
    CHECK_INT(t, sum, (long long)t->size * (t->size - 1) / 2);
}

static void groups(struct check* t)
{
    MPI_Comm group;
    int size = 0, sum = 0;
    const int one = 1;
    CHECK_CALL(t, MPI_Comm_split(MPI_COMM_WORLD, t->rank / group_ranks_max, 0, &group));
    CHECK_CALL(t, MPI_Comm_size(group, &size));
    CHECK_CALL(t, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, group));
    CHECK_INT(t, sum, size);
    CHECK_CALL(t, MPI_Comm_free(&group));
}

static int test_main(void)
{
    struct check t = check_start("many_ranks");
    ring(&t, 5);
    for (int round = 0; round < 3; ++round) {
        long long sum = 0;
        const long long number = t.rank;
        CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
        CHECK_CALL(&t, MPI_Allreduce(&number, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
        CHECK_INT(&t, sum, (long long)t.size * (t.size - 1) / 2);
    }
    groups(&t);
    neighbours(&t);
    all_to_one(&t);
    return check_finish(&t);
}
