// SPDX-License-Identifier: Apache-2.0
// Persistent collectives: started again and again with other data, give what the blocking call
// gives, whatever else runs between the starts.
#include "../check.h"

enum { rounds = 4, ranks_max = 8, each = 3, space = ranks_max * ranks_max * each, calls = 17 };

struct lists {
    int counts[ranks_max], places[ranks_max], one_each[ranks_max];
    MPI_Datatype types[ranks_max];
    int byte_places[ranks_max];
};

static struct lists make_lists(const struct check* t)
{
    struct lists l;
    for (int i = 0; i < ranks_max; ++i) {
        l.counts[i] = i % each + 1;
        l.places[i] = i * each;
        l.one_each[i] = t->rank % each + 1;
        l.types[i] = MPI_INT;
        l.byte_places[i] = i * each * (int)sizeof(int);
    }
    return l;
}

static int init_call(int which, const struct lists* l, const int* out, int* in, int mine, int root,
                     MPI_Comm comm, MPI_Request* r)
{
    const MPI_Info none = MPI_INFO_NULL;
    switch (which) {
        case 0:
            return MPI_Barrier_init(comm, none, r);
        case 1:
            return MPI_Bcast_init(in, each, MPI_INT, root, comm, none, r);
        case 2:
            return MPI_Gather_init(out, each, MPI_INT, in, each, MPI_INT, root, comm, none, r);
        case 3:
            return MPI_Gatherv_init(out, mine, MPI_INT, in, l->counts, l->places, MPI_INT, root,
                                    comm, none, r);
        case 4:
            return MPI_Scatter_init(out, each, MPI_INT, in, each, MPI_INT, root, comm, none, r);
        case 5:
            return MPI_Scatterv_init(out, l->counts, l->places, MPI_INT, in, mine, MPI_INT, root,
                                     comm, none, r);
        case 6:
            return MPI_Allgather_init(out, each, MPI_INT, in, each, MPI_INT, comm, none, r);
        case 7:
            return MPI_Allgatherv_init(out, mine, MPI_INT, in, l->counts, l->places, MPI_INT, comm,
                                       none, r);
        case 8:
            return MPI_Alltoall_init(out, each, MPI_INT, in, each, MPI_INT, comm, none, r);
        case 9:
            return MPI_Alltoallv_init(out, l->counts, l->places, MPI_INT, in, l->one_each,
                                      l->places, MPI_INT, comm, none, r);
        case 10:
            return MPI_Alltoallw_init(out, l->counts, l->byte_places, l->types, in, l->one_each,
                                      l->byte_places, l->types, comm, none, r);
        case 11:
            return MPI_Reduce_init(out, in, each, MPI_INT, MPI_SUM, root, comm, none, r);
        case 12:
            return MPI_Allreduce_init(out, in, each, MPI_INT, MPI_MAX, comm, none, r);
        case 13:
            return MPI_Reduce_scatter_init(out, in, l->counts, MPI_INT, MPI_SUM, comm, none, r);
        case 14:
            return MPI_Reduce_scatter_block_init(out, in, each, MPI_INT, MPI_SUM, comm, none, r);
        case 15:
            return MPI_Scan_init(out, in, each, MPI_INT, MPI_SUM, comm, none, r);
        default:
            return MPI_Exscan_init(out, in, each, MPI_INT, MPI_SUM, comm, none, r);
    }
}

static int blocking_call(int which, const struct lists* l, const int* out, int* in, int mine,
                         int root, MPI_Comm comm)
{
    switch (which) {
        case 0:
            return MPI_Barrier(comm);
        case 1:
            return MPI_Bcast(in, each, MPI_INT, root, comm);
        case 2:
            return MPI_Gather(out, each, MPI_INT, in, each, MPI_INT, root, comm);
        case 3:
            return MPI_Gatherv(out, mine, MPI_INT, in, l->counts, l->places, MPI_INT, root, comm);
        case 4:
            return MPI_Scatter(out, each, MPI_INT, in, each, MPI_INT, root, comm);
        case 5:
            return MPI_Scatterv(out, l->counts, l->places, MPI_INT, in, mine, MPI_INT, root, comm);
        case 6:
            return MPI_Allgather(out, each, MPI_INT, in, each, MPI_INT, comm);
        case 7:
            return MPI_Allgatherv(out, mine, MPI_INT, in, l->counts, l->places, MPI_INT, comm);
        case 8:
            return MPI_Alltoall(out, each, MPI_INT, in, each, MPI_INT, comm);
        case 9:
            return MPI_Alltoallv(out, l->counts, l->places, MPI_INT, in, l->one_each, l->places,
                                 MPI_INT, comm);
        case 10:
            return MPI_Alltoallw(out, l->counts, l->byte_places, l->types, in, l->one_each,
                                 l->byte_places, l->types, comm);
        case 11:
            return MPI_Reduce(out, in, each, MPI_INT, MPI_SUM, root, comm);
        case 12:
            return MPI_Allreduce(out, in, each, MPI_INT, MPI_MAX, comm);
        case 13:
            return MPI_Reduce_scatter(out, in, l->counts, MPI_INT, MPI_SUM, comm);
        case 14:
            return MPI_Reduce_scatter_block(out, in, each, MPI_INT, MPI_SUM, comm);
        case 15:
            return MPI_Scan(out, in, each, MPI_INT, MPI_SUM, comm);
        default:
            return MPI_Exscan(out, in, each, MPI_INT, MPI_SUM, comm);
    }
}

static void fill(const struct check* t, int* out, int round)
{
    for (int i = 0; i < space; ++i)
        out[i] = (t->rank + 1) * 1000 + i * 7 + round * 100000;
}

// All calls are initialized at once and each is started in every round.
static void against_blocking(struct check* t, int root)
{
    const struct lists l = make_lists(t);
    const int mine = t->rank % each + 1;
    int* out = check_memory(space * sizeof(int));
    int* in[calls];
    int* want = check_memory(space * sizeof(int));
    MPI_Request requests[calls];
    MPI_Comm comm;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int c = 0; c < calls; ++c) {
        in[c] = check_memory(space * sizeof(int));
        CHECK_CALL(t, init_call(c, &l, out, in[c], mine, root, comm, &requests[c]));
    }
    for (int round = 0; round < rounds; ++round) {
        fill(t, out, round);
        for (int c = 0; c < calls; ++c) {
            for (int i = 0; i < space; ++i)
                in[c][i] = c == 1 ? out[i] : -1;
        }
        CHECK_CALL(t, MPI_Startall(calls, requests));
        CHECK_CALL(t, MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE));
        for (int c = 0; c < calls; ++c) {
            for (int i = 0; i < space; ++i)
                want[i] = c == 1 ? out[i] : -1;
            CHECK_CALL(t, blocking_call(c, &l, out, want, mine, root, comm));
            if (!CHECK_INT(t, memcmp(in[c], want, space * sizeof(int)), 0))
                fprintf(stderr, "  in call %d, round %d\n", c, round);
        }
    }
    for (int c = 0; c < calls; ++c) {
        CHECK_CALL(t, MPI_Request_free(&requests[c]));
        free(in[c]);
    }
    free(out);
    free(want);
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

// One rank may be rounds ahead of the others.
static void running_ahead(struct check* t)
{
    int value = -1;
    MPI_Request request;
    CHECK_CALL(t, MPI_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    for (int round = 0; round < 200; ++round) {
        value = t->rank == 0 ? round : -1;
        CHECK_CALL(t, MPI_Start(&request));
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(t, value, round);
    }
    CHECK_CALL(t, MPI_Request_free(&request));
}

// Requests are started in other orders than they were made in, and in another one on each rank.
static void any_order(struct check* t)
{
    int out[2] = {t->rank, 10 * t->rank}, in[2] = {-1, -1};
    const int sum = t->size * (t->size - 1) / 2;
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i)
        CHECK_CALL(t, MPI_Allreduce_init(&out[i], &in[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                         MPI_INFO_NULL, &requests[i]));
    for (int round = 0; round < rounds; ++round) {
        const int first = t->lenient ? 0 : (t->rank + round) % 2;
        CHECK_CALL(t, MPI_Start(&requests[first]));
        CHECK_CALL(t, MPI_Start(&requests[1 - first]));
        CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK_INT(t, in[0], sum);
        CHECK_INT(t, in[1], 10 * sum);
    }
    CHECK_CALL(t, MPI_Request_free(&requests[0]));
    CHECK_CALL(t, MPI_Request_free(&requests[1]));
}

// (tens, digits): what stands behind moves what stands before to the left. Associative, and keeps
// the order of its operands.
static void append(void* in, void* inout, int* count, MPI_Datatype* type)
{
    const int* a = in;
    int* b = inout;
    (void)type;
    for (int i = 0; i < 2 * *count; i += 2) {
        b[i + 1] += a[i + 1] * b[i];
        b[i] *= a[i];
    }
}

// Operator, datatype and communicator are freed before the first start.
static void freed_parts(struct check* t)
{
    int in[4], expected = 0;
    MPI_Op op;
    MPI_Datatype gapped, pair;
    MPI_Comm comm;
    MPI_Request requests[2];
    CHECK_CALL(t, MPI_Op_create(append, 0, &op));
    CHECK_CALL(t, MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gapped));
    CHECK_CALL(t, MPI_Type_commit(&gapped));
    CHECK_CALL(t, MPI_Type_contiguous(2, MPI_INT, &pair));
    CHECK_CALL(t, MPI_Type_commit(&pair));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    int sum[2] = {-1, -1}, digit[2] = {10, -1};
    CHECK_CALL(t, MPI_Bcast_init(in, 2, gapped, 0, comm, MPI_INFO_NULL, &requests[0]));
    CHECK_CALL(t, MPI_Allreduce_init(digit, sum, 1, pair, op, comm, MPI_INFO_NULL, &requests[1]));
    CHECK_CALL(t, MPI_Op_free(&op));
    CHECK_CALL(t, MPI_Type_free(&gapped));
    CHECK_CALL(t, MPI_Type_free(&pair));
    CHECK_CALL(t, MPI_Comm_free(&comm));
    for (int round = 0; round < rounds; ++round) {
        digit[1] = (t->rank + round) % 10;
        expected = 0;
        for (int i = 0; i < t->size; ++i)
            expected = expected * 10 + (i + round) % 10;
        for (int i = 0; i < 4; ++i)
            in[i] = t->rank == 0 ? 5 * round + i : -1;
        CHECK_CALL(t, MPI_Startall(2, requests));
        CHECK_CALL(t, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK_INT(t, sum[1], expected);
        CHECK_INT(t, in[0], 5 * round);
        CHECK_INT(t, in[1], t->rank == 0 ? 5 * round + 1 : -1);
        CHECK_INT(t, in[2], 5 * round + 2);
    }
    CHECK_CALL(t, MPI_Request_free(&requests[0]));
    CHECK_CALL(t, MPI_Request_free(&requests[1]));
}

static void in_place(struct check* t)
{
    int value = 0;
    MPI_Request request;
    CHECK_CALL(t, MPI_Allreduce_init(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &request));
    for (int round = 1; round <= rounds; ++round) {
        value = round;
        CHECK_CALL(t, MPI_Start(&request));
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(t, value, round * t->size);
    }
    CHECK_CALL(t, MPI_Request_free(&request));
}

static int sum_init(const int* out, int* in, int count, MPI_Comm comm, MPI_Request* request)
{
    return MPI_Allreduce_init(out, in, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request);
}

// Thousands of starts of several requests, of nothing, of a value, in place and of a long vector:
// in another order each time, some freed and made again meanwhile, and ranks that are ahead.
static void thousands(struct check* t)
{
    enum { programs = 4, starts = 2000, long_count = 6000 };
    const int lengths[programs] = {0, 1, 3, long_count};
    int* out[programs];
    int* in[programs];
    int values[programs] = {0, 0, 0, 0};
    MPI_Request requests[programs];
    MPI_Comm comm;
    uint64_t state = 17;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int p = 0; p < programs; ++p) {
        out[p] = check_memory(long_count * sizeof(int));
        in[p] = check_memory(long_count * sizeof(int));
        memset(in[p], 0, long_count * sizeof(int));
        CHECK_CALL(t,
                   sum_init(p == 2 ? MPI_IN_PLACE : out[p], in[p], lengths[p], comm, &requests[p]));
    }
    for (int start = 0; start < starts; ++start) {
        const int p = (int)(check_random(&state) % (start % 16 == 0 ? programs : programs - 1));
        int* const given = p == 2 ? in[p] : out[p];
        values[p] = start % 1000 + p;
        for (int i = 0; i < lengths[p]; ++i)
            given[i] = values[p] + t->rank;
        CHECK_CALL(t, MPI_Start(&requests[p]));
        CHECK_CALL(t, MPI_Wait(&requests[p], MPI_STATUS_IGNORE));
        for (int i = 0; i < lengths[p]; i += 1999)
            CHECK_INT(t, in[p][i], t->size * values[p] + t->size * (t->size - 1) / 2);
        if (start % 97 == 0) {
            CHECK_CALL(t, MPI_Request_free(&requests[p]));
            CHECK_CALL(
                t, sum_init(p == 2 ? MPI_IN_PLACE : out[p], in[p], lengths[p], comm, &requests[p]));
        }
    }
    CHECK_CALL(t, MPI_Comm_free(&comm));
    for (int p = 0; p < programs; ++p) {
        CHECK_CALL(t, MPI_Request_free(&requests[p]));
        free(out[p]);
        free(in[p]);
    }
}

// As many at once on one communicator, each rank in its own order.
static void sixty_four(struct check* t)
{
    enum { programs = 64 };
    int out[programs], in[programs];
    MPI_Request requests[programs];
    for (int p = 0; p < programs; ++p)
        CHECK_CALL(t, sum_init(&out[p], &in[p], 1, MPI_COMM_WORLD, &requests[p]));
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < programs; ++i) {
            const int p = (i * 5 + (t->lenient ? 0 : 7 * t->rank) + round) % programs;
            out[p] = t->rank * 100 + p + round;
            in[p] = -1;
            CHECK_CALL(t, MPI_Start(&requests[p]));
        }
        CHECK_CALL(t, MPI_Waitall(programs, requests, MPI_STATUSES_IGNORE));
        for (int p = 0; p < programs; ++p)
            CHECK_INT(t, in[p], t->size * (p + round) + 50 * t->size * (t->size - 1));
    }
    for (int p = 0; p < programs; ++p)
        CHECK_CALL(t, MPI_Request_free(&requests[p]));
}

// The forms whose counts are MPI_Count.
static void wide(struct check* t)
{
    MPI_Count ones[ranks_max], own = 1;
    MPI_Aint places[ranks_max], byte_places[ranks_max];
    MPI_Datatype types[ranks_max];
    int out[ranks_max], in[4][ranks_max], sum = -1;
    MPI_Request requests[6];
    for (int i = 0; i < ranks_max; ++i) {
        ones[i] = 1;
        places[i] = i;
        byte_places[i] = i * (MPI_Aint)sizeof(int);
        types[i] = MPI_INT;
        out[i] = 100 * t->rank + i;
    }
    const MPI_Info none = MPI_INFO_NULL;
    CHECK_CALL(t, MPI_Allgatherv_init_c(out, own, MPI_INT, in[0], ones, places, MPI_INT,
                                        MPI_COMM_WORLD, none, &requests[0]));
    CHECK_CALL(t, MPI_Alltoallv_init_c(out, ones, places, MPI_INT, in[1], ones, places, MPI_INT,
                                       MPI_COMM_WORLD, none, &requests[1]));
    CHECK_CALL(t, MPI_Alltoallw_init_c(out, ones, byte_places, types, in[2], ones, byte_places,
                                       types, MPI_COMM_WORLD, none, &requests[2]));
    CHECK_CALL(t, MPI_Reduce_scatter_init_c(out, &sum, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD, none,
                                            &requests[3]));
    CHECK_CALL(t, MPI_Alltoall_init_c(out, own, MPI_INT, in[3], own, MPI_INT, MPI_COMM_WORLD, none,
                                      &requests[4]));
    CHECK_CALL(t, MPI_Barrier_init(MPI_COMM_WORLD, none, &requests[5]));
    for (int round = 0; round < 2; ++round) {
        memset(in, 0xff, sizeof in);
        CHECK_CALL(t, MPI_Startall(6, requests));
        CHECK_CALL(t, MPI_Waitall(6, requests, MPI_STATUSES_IGNORE));
        int want = 0;
        for (int i = 0; i < t->size; ++i) {
            CHECK_INT(t, in[0][i], 100 * i);
            CHECK_INT(t, in[1][i], 100 * i + t->rank);
            CHECK_INT(t, in[2][i], 100 * i + t->rank);
            CHECK_INT(t, in[3][i], 100 * i + t->rank);
            want += 100 * i + t->rank;
        }
        CHECK_INT(t, sum, want);
    }
    for (int i = 0; i < 6; ++i)
        CHECK_CALL(t, MPI_Request_free(&requests[i]));
}

static void refused(struct check* t)
{
    MPI_Request request;
    int flag = 0;
    MPI_Status status;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    REFUSED(t, MPI_Bcast_init(&flag, 1, MPI_INT, t->size, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
            MPI_ERR_ROOT);
    CHECK_CALL(t, MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    // Inactive: nothing to wait for.
    CHECK_CALL(t, MPI_Test(&request, &flag, &status));
    CHECK_INT(t, flag, 1);
    CHECK_INT(t, status.MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_CALL(t, MPI_Start(&request));
    if (!t->lenient) {
        REFUSED(t, MPI_Start(&request), MPI_ERR_REQUEST);
        REFUSED(t, MPI_Request_free(&request), MPI_ERR_REQUEST);
        REFUSED(t, MPI_Cancel(&request), MPI_ERR_REQUEST);
    }
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Request_free(&request));
    CHECK(t, request == MPI_REQUEST_NULL);
}

static int test_main(void)
{
    struct check t = check_start("persistent");
    for (int root = 0; root < t.size; ++root)
        against_blocking(&t, root);
    running_ahead(&t);
    any_order(&t);
    freed_parts(&t);
    in_place(&t);
    thousands(&t);
    sixty_four(&t);
    wide(&t);
    refused(&t);
    return check_finish(&t);
}
