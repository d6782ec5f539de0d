// SPDX-License-Identifier: Apache-2.0
// The `_c` twins of all collectives, blocking, started and persistent, each checked by what
// arrives.
#include "../check.h"

enum { ints_max = 256, ranks_max = 16, block = 3, forms = 3 };

struct place {
    struct check* t;
    MPI_Comm comm;
    int rank;
    int size;
    int out[ints_max];
    int in[ints_max];
    int want[ints_max];  // -1: left alone
    MPI_Count send_counts[ranks_max];
    MPI_Count receive_counts[ranks_max];
    MPI_Aint send_places[ranks_max];
    MPI_Aint receive_places[ranks_max];
    MPI_Datatype types[ranks_max];
};

static void clear(int* ints)
{
    for (int i = 0; i < ints_max; ++i)
        ints[i] = -1;
}

static void begin(struct place* p)
{
    clear(p->out);
    clear(p->want);
    for (int i = 0; i < ranks_max; ++i)
        p->types[i] = MPI_INT;
}

static void complete(struct place* p, int form, MPI_Request* request)
{
    if (form == 2)
        CHECK_CALL(p->t, MPI_Start(request));
    if (form != 0)
        CHECK_CALL(p->t, MPI_Wait(request, MPI_STATUS_IGNORE));
    if (form == 2)
        CHECK_CALL(p->t, MPI_Request_free(request));
}

static void compare(struct place* p, const char* what, int form)
{
    for (int i = 0; i < ints_max; ++i) {
        ++p->t->checks;
        if (p->in[i] != p->want[i]) {
            fprintf(stderr, "rank %d: %s, form %d, entry %d: got %d, expected %d\n", p->rank, what,
                    form, i, p->in[i], p->want[i]);
            ++p->t->failures;
            return;
        }
    }
}

// The three forms of a collective with the same arguments, the communicator last.
#define EACH_FORM(p, name, lower, ...)                                                     \
    for (int form = 0; form < forms; ++form) {                                             \
        MPI_Request request = MPI_REQUEST_NULL;                                            \
        clear((p)->in);                                                                    \
        if (form == 0)                                                                     \
            CHECK_CALL((p)->t, MPI_##name##_c(__VA_ARGS__));                               \
        if (form == 1)                                                                     \
            CHECK_CALL((p)->t, MPI_I##lower##_c(__VA_ARGS__, &request));                   \
        if (form == 2)                                                                     \
            CHECK_CALL((p)->t, MPI_##name##_init_c(__VA_ARGS__, MPI_INFO_NULL, &request)); \
        complete((p), form, &request);                                                     \
        compare((p), #name, form);                                                         \
    }

static int value(int rank, int i)
{
    return rank * 100 + i;
}

static int sum_to(int ranks, int i)
{
    return 100 * (ranks * (ranks - 1) / 2) + ranks * i;
}

// Where rank's block of rank + 1 ints lies, with a gap behind each.
static int v_place(int rank)
{
    return rank * (rank + 1) / 2 + rank;
}

static void check_bcast(struct place* p)
{
    begin(p);
    for (int i = 0; i < block; ++i)
        p->want[i] = value(p->size - 1, i);
    // The buffer is both: only the root's is filled before.
    for (int form = 0; form < forms; ++form) {
        MPI_Request request = MPI_REQUEST_NULL;
        clear(p->in);
        for (int i = 0; i < block && p->rank == p->size - 1; ++i)
            p->in[i] = value(p->rank, i);
        if (form == 0)
            CHECK_CALL(p->t, MPI_Bcast_c(p->in, block, MPI_INT, p->size - 1, p->comm));
        if (form == 1)
            CHECK_CALL(p->t, MPI_Ibcast_c(p->in, block, MPI_INT, p->size - 1, p->comm, &request));
        if (form == 2)
            CHECK_CALL(p->t, MPI_Bcast_init_c(p->in, block, MPI_INT, p->size - 1, p->comm,
                                              MPI_INFO_NULL, &request));
        complete(p, form, &request);
        compare(p, "Bcast", form);
    }
}

static void check_reductions(struct place* p)
{
    begin(p);
    for (int i = 0; i < block; ++i) {
        p->out[i] = value(p->rank, i);
        p->want[i] = sum_to(p->size, i);
    }
    EACH_FORM(p, Allreduce, allreduce, p->out, p->in, block, MPI_INT, MPI_SUM, p->comm)
    if (p->rank != 0)
        clear(p->want);
    EACH_FORM(p, Reduce, reduce, p->out, p->in, block, MPI_INT, MPI_SUM, 0, p->comm)
    for (int i = 0; i < block; ++i)
        p->want[i] = sum_to(p->rank + 1, i);
    EACH_FORM(p, Scan, scan, p->out, p->in, block, MPI_INT, MPI_SUM, p->comm)
    if (p->rank > 0) {
        for (int i = 0; i < block; ++i)
            p->want[i] = sum_to(p->rank, i);
        EACH_FORM(p, Exscan, exscan, p->out, p->in, block, MPI_INT, MPI_SUM, p->comm)
    } else {
        // What rank 0 finds is undefined: it only takes part.
        for (int form = 0; form < forms; ++form) {
            MPI_Request request = MPI_REQUEST_NULL;
            if (form == 0)
                MPI_Exscan_c(p->out, p->in, block, MPI_INT, MPI_SUM, p->comm);
            if (form == 1)
                MPI_Iexscan_c(p->out, p->in, block, MPI_INT, MPI_SUM, p->comm, &request);
            if (form == 2)
                MPI_Exscan_init_c(p->out, p->in, block, MPI_INT, MPI_SUM, p->comm, MPI_INFO_NULL,
                                  &request);
            complete(p, form, &request);
        }
    }
}

static void check_scattered_reductions(struct place* p)
{
    begin(p);
    for (int i = 0; i < block * p->size; ++i)
        p->out[i] = value(p->rank, i);
    for (int i = 0; i < block; ++i)
        p->want[i] = sum_to(p->size, p->rank * block + i);
    EACH_FORM(p, Reduce_scatter_block, reduce_scatter_block, p->out, p->in, block, MPI_INT, MPI_SUM,
              p->comm)
    begin(p);
    for (int r = 0; r < p->size; ++r)
        p->receive_counts[r] = r + 1;
    const int first = p->rank * (p->rank + 1) / 2;
    for (int i = 0; i < p->size * (p->size + 1) / 2; ++i)
        p->out[i] = value(p->rank, i);
    for (int i = 0; i <= p->rank; ++i)
        p->want[i] = sum_to(p->size, first + i);
    EACH_FORM(p, Reduce_scatter, reduce_scatter, p->out, p->in, p->receive_counts, MPI_INT, MPI_SUM,
              p->comm)
}

static void check_gathers(struct place* p)
{
    begin(p);
    for (int i = 0; i < block; ++i)
        p->out[i] = value(p->rank, i);
    for (int i = 0; i < block * p->size; ++i)
        p->want[i] = value(i / block, i % block);
    EACH_FORM(p, Allgather, allgather, p->out, block, MPI_INT, p->in, block, MPI_INT, p->comm)
    if (p->rank != 0)
        clear(p->want);
    EACH_FORM(p, Gather, gather, p->out, block, MPI_INT, p->in, block, MPI_INT, 0, p->comm)

    begin(p);
    for (int r = 0; r < p->size; ++r) {
        p->receive_counts[r] = r + 1;
        p->receive_places[r] = v_place(r);
        for (int i = 0; i <= r; ++i)
            p->want[v_place(r) + i] = value(r, i);
    }
    for (int i = 0; i <= p->rank; ++i)
        p->out[i] = value(p->rank, i);
    EACH_FORM(p, Allgatherv, allgatherv, p->out, p->rank + 1, MPI_INT, p->in, p->receive_counts,
              p->receive_places, MPI_INT, p->comm)
    if (p->rank != 0)
        clear(p->want);
    EACH_FORM(p, Gatherv, gatherv, p->out, p->rank + 1, MPI_INT, p->in, p->receive_counts,
              p->receive_places, MPI_INT, 0, p->comm)
}

static void check_scatters(struct place* p)
{
    begin(p);
    for (int i = 0; i < block * p->size; ++i)
        p->out[i] = value(0, i);
    for (int i = 0; i < block; ++i)
        p->want[i] = value(0, p->rank * block + i);
    EACH_FORM(p, Scatter, scatter, p->out, block, MPI_INT, p->in, block, MPI_INT, 0, p->comm)
    begin(p);
    for (int r = 0; r < p->size; ++r) {
        p->send_counts[r] = r + 1;
        p->send_places[r] = v_place(r);
    }
    for (int i = 0; i < ints_max; ++i)
        p->out[i] = value(1, i);
    for (int i = 0; i <= p->rank; ++i)
        p->want[i] = value(1, v_place(p->rank) + i);
    EACH_FORM(p, Scatterv, scatterv, p->out, p->send_counts, p->send_places, MPI_INT, p->in,
              p->rank + 1, MPI_INT, 0, p->comm)
}

static void check_alltoalls(struct place* p)
{
    begin(p);
    for (int i = 0; i < block * p->size; ++i) {
        p->out[i] = value(p->rank, i);
        p->want[i] = value(i / block, p->rank * block + i % block);
    }
    EACH_FORM(p, Alltoall, alltoall, p->out, block, MPI_INT, p->in, block, MPI_INT, p->comm)
    // To rank r go r + 1 ints, from each come as many as the own rank says.
    begin(p);
    for (int i = 0; i < ints_max; ++i)
        p->out[i] = value(p->rank, i);
    for (int r = 0; r < p->size; ++r) {
        p->send_counts[r] = r + 1;
        p->send_places[r] = v_place(r);
        p->receive_counts[r] = p->rank + 1;
        p->receive_places[r] = (MPI_Aint)r * (p->rank + 2);
        for (int i = 0; i <= p->rank; ++i)
            p->want[p->receive_places[r] + i] = value(r, v_place(p->rank) + i);
    }
    EACH_FORM(p, Alltoallv, alltoallv, p->out, p->send_counts, p->send_places, MPI_INT, p->in,
              p->receive_counts, p->receive_places, MPI_INT, p->comm)
    for (int r = 0; r < p->size; ++r) {
        p->send_places[r] *= (MPI_Aint)sizeof(int);
        p->receive_places[r] *= (MPI_Aint)sizeof(int);
    }
    EACH_FORM(p, Alltoallw, alltoallw, p->out, p->send_counts, p->send_places, p->types, p->in,
              p->receive_counts, p->receive_places, p->types, p->comm)
}

// On a ring: block 0 is the left neighbour's, block 1 the right one's.
static void check_neighbours(struct place* p)
{
    const int ring = 1, left = (p->rank + p->size - 1) % p->size, right = (p->rank + 1) % p->size;
    MPI_Comm comm;
    CHECK_CALL(p->t, MPI_Cart_create(MPI_COMM_WORLD, 1, &p->size, &ring, 0, &comm));
    begin(p);
    for (int i = 0; i < 2 * block; ++i)
        p->out[i] = value(p->rank, i);
    for (int i = 0; i < block; ++i) {
        p->want[i] = value(left, i);
        p->want[block + i] = value(right, i);
    }
    EACH_FORM(p, Neighbor_allgather, neighbor_allgather, p->out, block, MPI_INT, p->in, block,
              MPI_INT, comm)
    for (int n = 0; n < 2; ++n) {
        p->send_counts[n] = p->receive_counts[n] = block;
        p->send_places[n] = p->receive_places[n] = n * block;
    }
    EACH_FORM(p, Neighbor_allgatherv, neighbor_allgatherv, p->out, block, MPI_INT, p->in,
              p->receive_counts, p->receive_places, MPI_INT, comm)
    // What the left one sends to its right, and the other way round.
    for (int i = 0; i < block; ++i) {
        p->want[i] = value(left, block + i);
        p->want[block + i] = value(right, i);
    }
    EACH_FORM(p, Neighbor_alltoall, neighbor_alltoall, p->out, block, MPI_INT, p->in, block,
              MPI_INT, comm)
    EACH_FORM(p, Neighbor_alltoallv, neighbor_alltoallv, p->out, p->send_counts, p->send_places,
              MPI_INT, p->in, p->receive_counts, p->receive_places, MPI_INT, comm)
    for (int n = 0; n < 2; ++n)
        p->send_places[n] = p->receive_places[n] = n * block * (MPI_Aint)sizeof(int);
    EACH_FORM(p, Neighbor_alltoallw, neighbor_alltoallw, p->out, p->send_counts, p->send_places,
              p->types, p->in, p->receive_counts, p->receive_places, p->types, comm)
    MPI_Comm_free(&comm);
}

static void add_wide(void* in, void* inout, MPI_Count* count, MPI_Datatype* type)
{
    if (*type != MPI_INT)
        return;
    for (MPI_Count i = 0; i < *count; ++i)
        ((int*)inout)[i] += ((int*)in)[i];
}

static void check_user_op(struct place* p)
{
    MPI_Op op;
    CHECK_CALL(p->t, MPI_Op_create_c(add_wide, 1, &op));
    begin(p);
    for (int i = 0; i < block; ++i) {
        p->out[i] = value(p->rank, i);
        p->want[i] = sum_to(p->size, i);
    }
    EACH_FORM(p, Allreduce, allreduce, p->out, p->in, block, MPI_INT, op, p->comm)
    int own[block] = {1, 2, 3}, into[block] = {10, 20, 30};
    CHECK_CALL(p->t, MPI_Reduce_local_c(own, into, block, MPI_INT, op));
    CHECK(p->t, into[0] == 11 && into[1] == 22 && into[2] == 33);
    CHECK_CALL(p->t, MPI_Op_free(&op));
}

static int test_main(void)
{
    struct check t = check_start("large_collectives");
    static _Thread_local struct place place;
    struct place* p = &place;
    p->t = &t;
    p->comm = MPI_COMM_WORLD;
    p->rank = t.rank;
    p->size = t.size;
    check_bcast(p);
    check_reductions(p);
    check_scattered_reductions(p);
    check_gathers(p);
    check_scatters(p);
    check_alltoalls(p);
    check_neighbours(p);
    check_user_op(p);
    return check_finish(&t);
}
