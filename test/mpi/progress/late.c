// SPDX-License-Identifier: Apache-2.0
// The last rank comes three seconds late, since it computes and calls nothing. What the others have
// started, and the call that they wait in, lives on until it comes, and has the right results then.
// Lateness itself is the subject, so this computation alone ends by the clock.
#include <time.h>

#include "board.h"

enum { count = 5000, late_s = 3, kinds = 7 };

struct buffers {
    int out[count];
    int in[kinds][count];
    MPI_Request requests[kinds];
};

static int value(int rank, int i)
{
    return rank * 100000 + i;
}

static void start_all(struct check* t, struct buffers* b, int late, int early)
{
    const int n = count / t->size;
    MPI_Request* r = b->requests;
    for (int i = 0; i < count; ++i)
        b->out[i] = value(t->rank, i);
    memset(b->in, 0xEE, sizeof b->in);
    memcpy(b->in[0], b->out, count * sizeof(int));
    CHECK_CALL(t, MPI_Ibcast(b->in[0], count, MPI_INT, late, MPI_COMM_WORLD, &r[0]));
    CHECK_CALL(
        t, MPI_Ireduce(b->out, b->in[1], count, MPI_INT, MPI_SUM, early, MPI_COMM_WORLD, &r[1]));
    CHECK_CALL(t, MPI_Iallreduce(b->out, b->in[2], count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[2]));
    CHECK_CALL(t, MPI_Iallgather(b->out, n, MPI_INT, b->in[3], n, MPI_INT, MPI_COMM_WORLD, &r[3]));
    CHECK_CALL(t, MPI_Ialltoall(b->out, n, MPI_INT, b->in[4], n, MPI_INT, MPI_COMM_WORLD, &r[4]));
    CHECK_CALL(t, MPI_Iscan(b->out, b->in[5], count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[5]));
    CHECK_CALL(t, MPI_Ibarrier(MPI_COMM_WORLD, &r[6]));
}

static int sum_of(int ranks, int i)
{
    int sum = 0;
    for (int rank = 0; rank < ranks; ++rank)
        sum += value(rank, i);
    return sum;
}

static void verify(struct check* t, const struct buffers* b, int late, int early)
{
    const int n = count / t->size;
    long wrong[kinds] = {0};
    for (int i = 0; i < count; ++i) {
        wrong[0] += b->in[0][i] != value(late, i);
        wrong[1] += t->rank == early && b->in[1][i] != sum_of(t->size, i);
        wrong[2] += b->in[2][i] != sum_of(t->size, i);
        wrong[5] += b->in[5][i] != sum_of(t->rank + 1, i);
    }
    for (int i = 0; i < n * t->size; ++i) {
        wrong[3] += b->in[3][i] != value(i / n, i % n);
        wrong[4] += b->in[4][i] != value(i / n, t->rank * n + i % n);
    }
    for (int kind = 0; kind < kinds; ++kind)
        CHECK_INT(t, wrong[kind], 0);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void compute_for_s(double seconds)
{
    volatile double x = 1;
    const double end_s = now_s() + seconds;
    while (now_s() < end_s)
        x = compute_a_little(x);
}

static void run(struct check* t, struct board board)
{
    const int late = t->size - 1, early = 0;
    struct buffers* b = check_memory(sizeof *b);
    int mine = t->rank + 1, sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (t->rank == late) {
        compute_for_s(late_s);
        board_raise(board, 0);
    }
    start_all(t, b, late, early);
    CHECK_CALL(t, MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(t, board.flags[0], 1);
    CHECK_INT(t, sum, t->size * (t->size + 1) / 2);
    CHECK_CALL(t, MPI_Waitall(kinds, b->requests, MPI_STATUSES_IGNORE));
    verify(t, b, late, early);
    free(b);
}

static int test_main(void)
{
    struct check t = check_start("progress/late");
    struct board board = board_open(&t);
    run(&t, board);
    board_close(board);
    return check_finish(&t);
}
