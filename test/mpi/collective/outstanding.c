// SPDX-License-Identifier: Apache-2.0
// Several non-blocking collectives at once, on one communicator and interleaved on several, with
// blocking collectives and point-to-point traffic between, completed in any order.
#include "../check.h"

enum { wave = 12, comm_count = 3, rounds = 15 };

struct slot {
    int64_t out[64];
    int64_t in[64 * 8];
};

struct waves {
    struct slot slots[comm_count][wave];
    MPI_Request requests[comm_count * wave];
    MPI_Comm comms[comm_count];
    int rank[comm_count];
    int size[comm_count];
};

static int64_t operand(int comm, int k, int rank, int i)
{
    return comm * 100000 + k * 1000 + rank * 64 + i;
}

// The kind of collective depends on `k` only: the same on all ranks, different in a row.
static void start(struct check* t, struct waves* w, int c, int k)
{
    struct slot* s = &w->slots[c][k];
    MPI_Request* request = &w->requests[c * wave + k];
    const int count = 1 + k * 5, root = k % w->size[c];
    for (int i = 0; i < count; ++i)
        s->out[i] = operand(c, k, w->rank[c], i);
    memset(s->in, 0xEE, sizeof s->in);
    switch (k % 4) {
        case 0:
            CHECK_CALL(t, MPI_Iallreduce(s->out, s->in, count, MPI_INT64_T, MPI_SUM, w->comms[c],
                                         request));
            break;
        case 1:
            if (w->rank[c] == root)
                memcpy(s->in, s->out, sizeof s->out);
            CHECK_CALL(t, MPI_Ibcast(s->in, count, MPI_INT64_T, root, w->comms[c], request));
            break;
        case 2:
            CHECK_CALL(t, MPI_Ibarrier(w->comms[c], request));
            break;
        default:
            CHECK_CALL(t, MPI_Iallreduce(s->out, s->in, count, MPI_INT64_T, MPI_MAX, w->comms[c],
                                         request));
            break;
    }
}

static void check_slot(struct check* t, const struct waves* w, int c, int k)
{
    const struct slot* s = &w->slots[c][k];
    const int count = 1 + k * 5, root = k % w->size[c];
    int wrong = 0;
    for (int i = 0; i < count && k % 4 != 2; ++i) {
        int64_t want = k % 4 == 0 ? 0 : operand(c, k, k % 4 == 1 ? root : w->size[c] - 1, i);
        for (int rank = 0; k % 4 == 0 && rank < w->size[c]; ++rank)
            want += operand(c, k, rank, i);
        wrong += s->in[i] != want;
    }
    if (!CHECK_INT(t, wrong, 0)) {
        fprintf(stderr, "outstanding: the last line is about collective %d of part %d\n", k, c);
    }
}

// Each rank walks over the communicators in its own order; on each the order is the same.
static void start_all(struct check* t, struct waves* w, uint64_t* random)
{
    int next[comm_count] = {0};
    for (int left = comm_count * wave; left > 0;) {
        const int c = check_below(random, comm_count);
        if (next[c] == wave)
            continue;
        start(t, w, c, next[c]++);
        --left;
    }
}

static void finish_all(struct check* t, struct waves* w, int round, uint64_t* random)
{
    enum { total = comm_count * wave };
    int index = 0, flag = 0;
    if (round % 3 == 0) {
        CHECK_CALL(t, MPI_Waitall(total, w->requests, MPI_STATUSES_IGNORE));
    } else if (round % 3 == 1) {
        for (int i = total - 1; i >= 0; --i) {
            CHECK_CALL(t, MPI_Wait(&w->requests[i], MPI_STATUS_IGNORE));
        }
    } else {
        for (int left = total; left > 0 && t->failures == 0;) {
            if (check_below(random, 2) == 0) {
                CHECK_CALL(t, MPI_Waitany(total, w->requests, &index, MPI_STATUS_IGNORE));
                flag = 1;
            } else {
                CHECK_CALL(t, MPI_Testany(total, w->requests, &index, &flag, MPI_STATUS_IGNORE));
            }
            left -= flag;
        }
    }
    for (int i = 0; i < total; ++i)
        CHECK(t, w->requests[i] == MPI_REQUEST_NULL);
}

// Messages with any tag wait beside the collectives; neither may take the other's.
static void beside_messages(struct check* t, struct waves* w, uint64_t* random)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    int in = -1, sum = 0;
    MPI_Request receive, sent;
    MPI_Status status;
    CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w->comms[0], &receive));
    start_all(t, w, random);
    CHECK_CALL(t, MPI_Allreduce(&t->rank, &sum, 1, MPI_INT, MPI_SUM, w->comms[0]));
    CHECK_INT(t, sum, t->size * (t->size - 1) / 2);
    CHECK_CALL(t, MPI_Isend(&t->rank, 1, MPI_INT, to, 77, w->comms[0], &sent));
    CHECK_CALL(t, MPI_Wait(&receive, &status));
    CHECK_INT(t, status.MPI_TAG, 77);
    CHECK_INT(t, in, from);
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

// Large ones in flight together: they share whatever buffers and lanes there are.
static void large(struct check* t)
{
    enum { flights = 4, count = 60000 };
    double* out = check_memory(flights * count * sizeof *out);
    double* in = check_memory(flights * count * sizeof *in);
    MPI_Request requests[flights];
    int wrong = 0;
    for (int i = 0; i < flights * count; ++i)
        out[i] = (t->rank + 1) * (i % 1001);
    for (int k = 0; k < flights; ++k) {
        CHECK_CALL(t, MPI_Iallreduce(out + k * count, in + k * count, count, MPI_DOUBLE, MPI_SUM,
                                     MPI_COMM_WORLD, &requests[k]));
    }
    CHECK_CALL(t, MPI_Waitall(flights, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < flights * count; ++i) {
        wrong += in[i] != t->size * (t->size + 1) / 2 * (i % 1001);
    }
    CHECK_INT(t, wrong, 0);
    free(in);
    free(out);
}

static int test_main(void)
{
    struct check t = check_start("outstanding_collectives");
    struct waves* w = calloc(1, sizeof *w);
    if (!CHECK(&t, w != NULL))
        return check_finish(&t);
    w->comms[0] = MPI_COMM_WORLD;
    CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &w->comms[1]));
    CHECK_CALL(&t, MPI_Comm_split(MPI_COMM_WORLD, t.rank % 2, t.rank, &w->comms[2]));
    for (int c = 0; c < comm_count; ++c) {
        CHECK_CALL(&t, MPI_Comm_rank(w->comms[c], &w->rank[c]));
        CHECK_CALL(&t, MPI_Comm_size(w->comms[c], &w->size[c]));
    }
    for (int round = 0; round < rounds; ++round) {
        uint64_t random = (uint64_t)(round * 64 + t.rank);
        if (round % 5 == 4) {
            beside_messages(&t, w, &random);
        } else {
            start_all(&t, w, &random);
        }
        finish_all(&t, w, round, &random);
        for (int i = 0; i < comm_count * wave; ++i)
            check_slot(&t, w, i / wave, i % wave);
    }
    large(&t);
    CHECK_CALL(&t, MPI_Comm_free(&w->comms[1]));
    CHECK_CALL(&t, MPI_Comm_free(&w->comms[2]));
    free(w);
    return check_finish(&t);
}
