// SPDX-License-Identifier: Apache-2.0
// Neighbourhood collectives on grids (where a neighbour may be twice the same rank, the rank
// itself, or nobody) and on distributed graphs, in all forms, blocking, started and persistent.
#include "../check.h"

enum { forms = 3, rounds = 3, block = 4 };

// The number that the block `index` of `rank` carries at place `i` in a round.
static int content(int rank, int index, int i, int round)
{
    return ((rank * 64 + index) * 16 + i) * 8 + round;
}

struct neighbors {
    int in, out;
    int sources[64], destinations[64];
    // Which block of its source arrives: index in the source's send buffer.
    int index_at_source[64];
};

// What a call made: for requests, started or to be started.
static void finish(struct check* t, int form, MPI_Request* request)
{
    if (form == 0)
        return;
    if (form == 2)
        CHECK_CALL(t, MPI_Start(request));
    CHECK_CALL(t, MPI_Wait(request, MPI_STATUS_IGNORE));
}

static void fill(int* out, int blocks, int rank, int round)
{
    for (int k = 0; k < blocks; ++k) {
        for (int i = 0; i < block; ++i)
            out[k * block + i] = content(rank, k, i, round);
    }
}

static void check_blocks(struct check* t, const struct neighbors* n, const int* in, int is_gather,
                         int count, int round)
{
    for (int l = 0; l < n->in; ++l) {
        const int* at = in + l * block;
        const int from = n->sources[l];
        for (int i = 0; i < block; ++i) {
            const int index = is_gather ? 0 : n->index_at_source[l];
            const int arrives = from != MPI_PROC_NULL && i < count;
            CHECK_INT(t, at[i], arrives ? content(from, index, i, round) : -1);
        }
    }
}

struct buffers {
    int out[64 * block], in[64 * block];
    int out_counts[64], in_counts[64], out_places[64], in_places[64];
    MPI_Aint out_bytes[64], in_bytes[64];
    MPI_Datatype types[64];
};

static int begin_call(int call, int form, struct buffers* b, MPI_Comm comm, MPI_Request* request)
{
    const int* out = b->out;
    int* in = b->in;
    const MPI_Info info = MPI_INFO_NULL;
    switch (call * forms + form) {
        case 0:
            return MPI_Neighbor_allgather(out, block, MPI_INT, in, block, MPI_INT, comm);
        case 1:
            return MPI_Ineighbor_allgather(out, block, MPI_INT, in, block, MPI_INT, comm, request);
        case 2:
            return MPI_Neighbor_allgather_init(out, block, MPI_INT, in, block, MPI_INT, comm, info,
                                               request);
        case 3:
            return MPI_Neighbor_alltoall(out, block, MPI_INT, in, block, MPI_INT, comm);
        case 4:
            return MPI_Ineighbor_alltoall(out, block, MPI_INT, in, block, MPI_INT, comm, request);
        case 5:
            return MPI_Neighbor_alltoall_init(out, block, MPI_INT, in, block, MPI_INT, comm, info,
                                              request);
        case 6:
            return MPI_Neighbor_allgatherv(out, 2, MPI_INT, in, b->in_counts, b->in_places, MPI_INT,
                                           comm);
        case 7:
            return MPI_Ineighbor_allgatherv(out, 2, MPI_INT, in, b->in_counts, b->in_places,
                                            MPI_INT, comm, request);
        case 8:
            return MPI_Neighbor_allgatherv_init(out, 2, MPI_INT, in, b->in_counts, b->in_places,
                                                MPI_INT, comm, info, request);
        case 9:
            return MPI_Neighbor_alltoallv(out, b->out_counts, b->out_places, MPI_INT, in,
                                          b->in_counts, b->in_places, MPI_INT, comm);
        case 10:
            return MPI_Ineighbor_alltoallv(out, b->out_counts, b->out_places, MPI_INT, in,
                                           b->in_counts, b->in_places, MPI_INT, comm, request);
        case 11:
            return MPI_Neighbor_alltoallv_init(out, b->out_counts, b->out_places, MPI_INT, in,
                                               b->in_counts, b->in_places, MPI_INT, comm, info,
                                               request);
        case 12:
            return MPI_Neighbor_alltoallw(out, b->out_counts, b->out_bytes, b->types, in,
                                          b->in_counts, b->in_bytes, b->types, comm);
        case 13:
            return MPI_Ineighbor_alltoallw(out, b->out_counts, b->out_bytes, b->types, in,
                                           b->in_counts, b->in_bytes, b->types, comm, request);
        default:
            return MPI_Neighbor_alltoallw_init(out, b->out_counts, b->out_bytes, b->types, in,
                                               b->in_counts, b->in_bytes, b->types, comm, info,
                                               request);
    }
}

static void all_calls(struct check* t, MPI_Comm comm, const struct neighbors* n)
{
    struct buffers* b = check_memory(sizeof *b);
    for (int k = 0; k < 64; ++k) {
        b->out_counts[k] = b->in_counts[k] = 2;
        b->out_places[k] = b->in_places[k] = k * block;
        b->out_bytes[k] = b->in_bytes[k] = (MPI_Aint)((size_t)(k * block) * sizeof(int));
        b->types[k] = MPI_INT;
    }
    int rank = -1;
    MPI_Comm_rank(comm, &rank);
    for (int call = 0; call < 5; ++call) {
        const int is_gather = call == 0 || call == 2;
        for (int form = 0; form < forms; ++form) {
            MPI_Request request = MPI_REQUEST_NULL;
            for (int round = 0; round < rounds; ++round) {
                fill(b->out, is_gather ? 1 : n->out, rank, round);
                memset(b->in, 0xff, sizeof b->in);
                if (form < 2 || round == 0)
                    CHECK_CALL(t, begin_call(call, form, b, comm, &request));
                // A persistent call takes what is there when it starts.
                if (form == 2 && round == 0)
                    fill(b->out, is_gather ? 1 : n->out, rank, round);
                finish(t, form, &request);
                check_blocks(t, n, b->in, is_gather, call < 2 ? block : 2, round);
            }
            if (form == 2)
                CHECK_CALL(t, MPI_Request_free(&request));
        }
    }
    free(b);
}

static void grid(struct check* t, int rows, int columns, int period)
{
    const int extents[2] = {rows, columns}, periods[2] = {period, period};
    struct neighbors n;
    MPI_Comm comm;
    CHECK_CALL(t, MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &comm));
    if (comm == MPI_COMM_NULL)
        return;
    n.in = n.out = 4;
    for (int dimension = 0; dimension < 2; ++dimension) {
        int before = 0, after = 0;
        MPI_Cart_shift(comm, dimension, 1, &before, &after);
        n.sources[2 * dimension] = before;
        n.sources[2 * dimension + 1] = after;
        // From the one before comes what it sends to the one after it.
        n.index_at_source[2 * dimension] = 2 * dimension + 1;
        n.index_at_source[2 * dimension + 1] = 2 * dimension;
    }
    all_calls(t, comm, &n);
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

// Everybody hears from all ranks below and itself, and tells all above and itself.
static void triangle(struct check* t)
{
    struct neighbors n = {0, 0, {0}, {0}, {0}};
    MPI_Comm comm;
    for (int i = 0; i <= t->rank; ++i) {
        n.sources[n.in] = i;
        n.index_at_source[n.in++] = t->rank - i;
    }
    for (int i = t->rank; i < t->size; ++i)
        n.destinations[n.out++] = i;
    CHECK_CALL(
        t, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n.in, n.sources, MPI_UNWEIGHTED, n.out,
                                          n.destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    all_calls(t, comm, &n);
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

static void full_graph(struct check* t)
{
    struct neighbors n = {t->size - 1, t->size - 1, {0}, {0}, {0}};
    int index[64], edges[64 * 64], count = 0;
    MPI_Comm comm;
    for (int i = 0; i < t->size; ++i) {
        for (int k = 0; k < t->size; ++k) {
            if (k != i)
                edges[count++] = k;
        }
        index[i] = count;
    }
    for (int l = 0; l < n.in; ++l) {
        n.sources[l] = l < t->rank ? l : l + 1;
        n.index_at_source[l] = t->rank < n.sources[l] ? t->rank : t->rank - 1;
    }
    CHECK_CALL(t, MPI_Graph_create(MPI_COMM_WORLD, t->size, index, edges, 0, &comm));
    all_calls(t, comm, &n);
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

// Elements with gaps on both sides.
static void strided(struct check* t)
{
    const int period = 1;
    int out[8] = {1, -1, 2, -1, 3, -1, 4, -1}, in[8], before = 0, after = 0;
    MPI_Datatype every_other;
    MPI_Comm ring;
    CHECK_CALL(t, MPI_Cart_create(MPI_COMM_WORLD, 1, &t->size, &period, 0, &ring));
    CHECK_CALL(t, MPI_Cart_shift(ring, 0, 1, &before, &after));
    CHECK_CALL(t, MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_other));
    CHECK_CALL(t, MPI_Type_commit(&every_other));
    for (int i = 0; i < 8; i += 2)
        out[i] += 10 * t->rank;
    memset(in, 0xff, sizeof in);
    CHECK_CALL(t, MPI_Neighbor_alltoall_c(out, 2, every_other, in, 2, every_other, ring));
    const int want[8] = {10 * before + 3, -1, 10 * before + 4, -1,
                         10 * after + 1,  -1, 10 * after + 2,  -1};
    for (int i = 0; i < 8; ++i)
        CHECK_INT(t, in[i], want[i]);
    CHECK_CALL(t, MPI_Type_free(&every_other));
    CHECK_CALL(t, MPI_Comm_free(&ring));
}

static int test_main(void)
{
    struct check t = check_start("neighbors");
    int in = 0, out = 0;
    for (int columns = 1; columns <= t.size; ++columns) {
        // Other libraries do not tell both directions of a short dimension apart.
        grid(&t, t.size / columns, columns, 0);
        if (!t.lenient || (columns > 2 && t.size / columns > 2))
            grid(&t, t.size / columns, columns, 1);
    }
    triangle(&t);
    full_graph(&t);
    if (!t.lenient || t.size > 2)
        strided(&t);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    REFUSED(&t, MPI_Neighbor_alltoall(&out, 1, MPI_INT, &in, 1, MPI_INT, MPI_COMM_WORLD),
            MPI_ERR_TOPOLOGY);
    return check_finish(&t);
}
