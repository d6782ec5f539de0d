// SPDX-License-Identifier: Apache-2.0
// Sixty-four collectives on four communicators, started in a different order of communicators on
// every rank, and then sixty-four on one: all complete while every rank computes and none calls MPI
// (MPI-5.0 section 6.12).
#include "board.h"

enum { comms = 4, rounds = 2, kinds = 8, all = comms * rounds * kinds, longest = 30000 };

enum kind { barrier, bcast, reduce, allreduce, gather, scatter, allgather, alltoall };

struct started {
    MPI_Request request;
    int comm;
    int kind;
    int count;  // ints a block
    int root;
    int* in;
    int* out;
};

static int value(int comm, int kind, int rank, int i)
{
    return comm * 7 + kind * 31 + rank * 5 + i;
}

static void start(struct check* t, const MPI_Comm* on, int comm, int round, int kind,
                  struct started* s)
{
    const int size = t->size;
    const int count = round == 0 ? 3 : longest / size;
    *s = (struct started){MPI_REQUEST_NULL, comm, kind, count, (comm + kind) % size, NULL, NULL};
    const size_t room = (size_t)count * (size_t)size;
    s->in = check_memory(room * sizeof(int));
    s->out = check_memory(room * sizeof(int));
    for (size_t i = 0; i < room; ++i) {
        s->in[i] = value(comm, kind, t->rank, (int)i);
        s->out[i] = -1;
    }
    const MPI_Comm c = on[comm];
    MPI_Request* r = &s->request;
    switch (kind) {
        case barrier:
            CHECK_CALL(t, MPI_Ibarrier(c, r));
            break;
        case bcast:
            CHECK_CALL(t, MPI_Ibcast(s->in, count, MPI_INT, s->root, c, r));
            break;
        case reduce:
            CHECK_CALL(t, MPI_Ireduce(s->in, s->out, count, MPI_INT, MPI_SUM, s->root, c, r));
            break;
        case allreduce:
            CHECK_CALL(t, MPI_Iallreduce(s->in, s->out, count, MPI_INT, MPI_SUM, c, r));
            break;
        case gather:
            CHECK_CALL(t,
                       MPI_Igather(s->in, count, MPI_INT, s->out, count, MPI_INT, s->root, c, r));
            break;
        case scatter:
            CHECK_CALL(t,
                       MPI_Iscatter(s->in, count, MPI_INT, s->out, count, MPI_INT, s->root, c, r));
            break;
        case allgather:
            CHECK_CALL(t, MPI_Iallgather(s->in, count, MPI_INT, s->out, count, MPI_INT, c, r));
            break;
        default:
            CHECK_CALL(t, MPI_Ialltoall(s->in, count, MPI_INT, s->out, count, MPI_INT, c, r));
            break;
    }
}

static int sum_of(const struct started* s, int size, int i)
{
    int sum = 0;
    for (int rank = 0; rank < size; ++rank)
        sum += value(s->comm, s->kind, rank, i);
    return sum;
}

/// What block `from`, element `i`, of the rank's result must be.
static int expected(const struct check* t, const struct started* s, int from, int i)
{
    switch (s->kind) {
        case reduce:
        case allreduce:
            return sum_of(s, t->size, i);
        case scatter:
            return value(s->comm, s->kind, s->root, t->rank * s->count + i);
        case alltoall:
            return value(s->comm, s->kind, from, t->rank * s->count + i);
        case bcast:
            return value(s->comm, s->kind, s->root, i);
        default:
            return value(s->comm, s->kind, from, i);
    }
}

static void verify(struct check* t, const struct started* s)
{
    const int is_root_only = s->kind == reduce || s->kind == gather;
    if (s->kind == barrier || (is_root_only && t->rank != s->root))
        return;
    const int many = s->kind == gather || s->kind == allgather || s->kind == alltoall;
    const int* got = s->kind == bcast ? s->in : s->out;
    long wrong = 0;
    for (int from = 0; from < (many ? t->size : 1); ++from) {
        for (int i = 0; i < s->count; ++i)
            wrong += got[from * s->count + i] != expected(t, s, from, i);
    }
    CHECK_INT(t, wrong, 0);
}

/// Parts of the collectives that share a communicator are started in one order on all ranks; those
/// that have one each, in an order of the rank's own.
static void run(struct check* t, struct board board, int flag, const MPI_Comm* on, int is_one)
{
    const struct headway_interface_1* headway = board_interface();
    struct started* started = check_memory(all * sizeof *started);
    int count = 0;
    for (int round = 0; round < rounds; ++round) {
        for (int kind = 0; kind < kinds; ++kind) {
            for (int i = 0; i < comms; ++i) {
                const int comm = (i + (is_one ? 0 : t->rank) + kind) % comms;
                start(t, on, comm, round, kind, &started[count++]);
            }
        }
    }
    CHECK_INT(t, count, all);
    compute_until_complete(headway);
    board_raise(board, flag);
    compute_until_raised(board, flag, t->size);
    for (int i = 0; i < count; ++i) {
        int is_complete = 0;
        CHECK_CALL(t, MPI_Test(&started[i].request, &is_complete, MPI_STATUS_IGNORE));
        CHECK_INT(t, is_complete, 1);
        verify(t, &started[i]);
        free(started[i].in);
        free(started[i].out);
    }
    free(started);
}

static int test_main(void)
{
    struct check t = check_start("progress/collectives");
    struct board board = board_open(&t);
    MPI_Comm on[comms];
    for (int i = 0; i < comms; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &on[i]);
    const MPI_Comm one[comms] = {on[0], on[0], on[0], on[0]};
    MPI_Barrier(MPI_COMM_WORLD);
    run(&t, board, 0, on, 0);
    run(&t, board, 1, one, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < comms; ++i)
        MPI_Comm_free(&on[i]);
    board_close(board);
    return check_finish(&t);
}
