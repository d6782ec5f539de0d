// SPDX-License-Identifier: Apache-2.0
// Every collective that algorithms can be chosen for, with results that can be foretold. Vectors
// are of blocks[]'s elements; the operator does not commute where its name says so. Prints the
// frames that the last rank posted for 100 barriers, or allgathers of 32 KB.
//   tuning [dealt | allgathers]   dealt: on a communicator that deals the ranks out, even ones
//   first
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { longest = 40000, repeats = 100, gathered = 8000 };

static const int lengths[] = {0, 1, 5, 700, longest};

struct world {
    MPI_Comm comm;
    int rank;
    int size;
    long failures;
    MPI_Datatype pair;  // x -> factor * x + term, modulo 2^32
    MPI_Op after;       // one map after the other: does not commute
    uint32_t* in;
    uint32_t* out;
};

static void expect(struct world* w, const char* what, int length, uint32_t got, uint32_t want)
{
    if (got != want && ++w->failures < 10)
        fprintf(stderr, "rank %d of %d: %s of %d: got %u, expected %u\n", w->rank, w->size, what,
                length, got, want);
}

static void compose(void* in, void* inout, int* count, MPI_Datatype* type)
{
    const uint32_t* first = in;
    uint32_t* second = inout;
    (void)type;
    for (int i = 0; i < 2 * *count; i += 2) {
        second[i + 1] += second[i] * first[i + 1];
        second[i] *= first[i];
    }
}

static uint32_t mark(int rank, int at)
{
    return (uint32_t)(rank + 1) * 1000003U + (uint32_t)at * 7U;
}

static void fill(struct world* w, uint32_t* to, int count)
{
    for (int i = 0; i < count; ++i)
        to[i] = mark(w->rank, i);
}

// Element `at` of a sum of the ranks from 0 to before `end`.
static uint32_t sum_of(int end, int at)
{
    uint32_t sum = 0;
    for (int rank = 0; rank < end; ++rank)
        sum += mark(rank, at);
    return sum;
}

static uint32_t maps_of(int end, int at)
{
    uint32_t map[2] = {1, 0};
    for (int rank = 0; rank < end; ++rank) {
        uint32_t next[2] = {mark(rank, at & ~1), mark(rank, at | 1)};
        int one = 1;
        compose(map, next, &one, NULL);
        memcpy(map, next, sizeof map);
    }
    return map[at & 1];
}

static void check_reduced(struct world* w, const char* what, int length, int end, int is_map)
{
    for (int i = 0; i < length; ++i)
        expect(w, what, length, w->out[i], is_map ? maps_of(end, i) : sum_of(end, i));
}

static void reductions(struct world* w, int length, int is_map)
{
    const MPI_Datatype type = is_map ? w->pair : MPI_UINT32_T;
    const MPI_Op op = is_map ? w->after : MPI_SUM;
    const int count = is_map ? length / 2 : length;
    const int total = is_map ? 2 * count : count;
    for (int root = 0; root < w->size; ++root) {
        fill(w, w->in, total);
        memset(w->out, 0, sizeof(uint32_t) * longest);
        MPI_Reduce(w->in, w->out, count, type, op, root, w->comm);
        if (w->rank == root)
            check_reduced(w, "reduce", total, w->size, is_map);
        fill(w, w->out, total);
        MPI_Reduce(w->rank == root ? MPI_IN_PLACE : w->out, w->out, count, type, op, root, w->comm);
        if (w->rank == root)
            check_reduced(w, "reduce in place", total, w->size, is_map);
    }
    fill(w, w->in, total);
    MPI_Allreduce(w->in, w->out, count, type, op, w->comm);
    check_reduced(w, "allreduce", total, w->size, is_map);
    fill(w, w->out, total);
    MPI_Allreduce(MPI_IN_PLACE, w->out, count, type, op, w->comm);
    check_reduced(w, "allreduce in place", total, w->size, is_map);
    MPI_Scan(w->in, w->out, count, type, op, w->comm);
    check_reduced(w, "scan", total, w->rank + 1, is_map);
    MPI_Exscan(w->in, w->out, count, type, op, w->comm);
    if (w->rank > 0)
        check_reduced(w, "exscan", total, w->rank, is_map);
    fill(w, w->out, total);
    MPI_Scan(MPI_IN_PLACE, w->out, count, type, op, w->comm);
    check_reduced(w, "scan in place", total, w->rank + 1, is_map);
    fill(w, w->out, total);
    MPI_Exscan(MPI_IN_PLACE, w->out, count, type, op, w->comm);
    if (w->rank > 0)
        check_reduced(w, "exscan in place", total, w->rank, is_map);
}

static void scattered(struct world* w, int length)
{
    int counts[64], first = 0;
    const int each = length / w->size;
    fill(w, w->in, each * w->size);
    MPI_Reduce_scatter_block(w->in, w->out, each, MPI_UINT32_T, MPI_SUM, w->comm);
    for (int i = 0; i < each; ++i)
        expect(w, "reduce_scatter_block", each, w->out[i], sum_of(w->size, w->rank * each + i));
    fill(w, w->out, each * w->size);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, w->out, each, MPI_UINT32_T, MPI_SUM, w->comm);
    for (int i = 0; i < each; ++i)
        expect(w, "reduce_scatter_block in place", each, w->out[i],
               sum_of(w->size, w->rank * each + i));
    const int maps = each / 2;
    MPI_Reduce_scatter_block(w->in, w->out, maps, w->pair, w->after, w->comm);
    for (int i = 0; i < 2 * maps; ++i)
        expect(w, "reduce_scatter_block of maps", maps, w->out[i],
               maps_of(w->size, 2 * w->rank * maps + i));
    for (int rank = 0; rank < w->size; ++rank) {
        counts[rank] = rank % 2 == 0 ? each : 0;
        first += rank < w->rank ? counts[rank] : 0;
    }
    MPI_Reduce_scatter(w->in, w->out, counts, MPI_UINT32_T, MPI_SUM, w->comm);
    for (int i = 0; i < counts[w->rank]; ++i)
        expect(w, "reduce_scatter", each, w->out[i], sum_of(w->size, first + i));
    fill(w, w->out, each * w->size);
    MPI_Reduce_scatter(MPI_IN_PLACE, w->out, counts, MPI_UINT32_T, MPI_SUM, w->comm);
    for (int i = 0; i < counts[w->rank]; ++i)
        expect(w, "reduce_scatter in place", each, w->out[i], sum_of(w->size, first + i));
}

static void rooted(struct world* w, int length, int root)
{
    int counts[64], places[64];
    const int each = length / w->size;
    for (int rank = 0; rank < w->size; ++rank) {
        counts[rank] = rank % 2 == 0 ? each : each / 2;
        places[rank] = rank * each;
    }
    if (w->rank == root)
        fill(w, w->out, length);
    MPI_Bcast(w->out, length, MPI_UINT32_T, root, w->comm);
    for (int i = 0; i < length; ++i)
        expect(w, "bcast", length, w->out[i], mark(root, i));
    fill(w, w->in, each * w->size);
    for (int is_listed = 0; is_listed < 2; ++is_listed) {
        if (is_listed)
            MPI_Gatherv(w->in, counts[w->rank], MPI_UINT32_T, w->out, counts, places, MPI_UINT32_T,
                        root, w->comm);
        else
            MPI_Gather(w->in, each, MPI_UINT32_T, w->out, each, MPI_UINT32_T, root, w->comm);
        for (int i = 0; w->rank == root && i < each * w->size; ++i) {
            if (i % each < (is_listed ? counts[i / each] : each))
                expect(w, "gather", each, w->out[i], mark(i / each, i % each));
        }
        if (is_listed)
            MPI_Scatterv(w->in, counts, places, MPI_UINT32_T, w->out, counts[w->rank], MPI_UINT32_T,
                         root, w->comm);
        else
            MPI_Scatter(w->in, each, MPI_UINT32_T, w->out, each, MPI_UINT32_T, root, w->comm);
        for (int i = 0; i < (is_listed ? counts[w->rank] : each); ++i)
            expect(w, "scatter", each, w->out[i], mark(root, w->rank * each + i));
    }
}

static void exchanged(struct world* w, int length)
{
    int counts[64], places[64], own[64];
    const int each = length / w->size;
    for (int rank = 0; rank < w->size; ++rank) {
        counts[rank] = rank % 2 == 0 ? each : each / 2;
        own[rank] = w->rank % 2 == 0 ? each : each / 2;
        places[rank] = rank * each;
    }
    fill(w, w->in, each * w->size);
    for (int is_listed = 0; is_listed < 2; ++is_listed) {
        if (is_listed)
            MPI_Allgatherv(w->in, counts[w->rank], MPI_UINT32_T, w->out, counts, places,
                           MPI_UINT32_T, w->comm);
        else
            MPI_Allgather(w->in, each, MPI_UINT32_T, w->out, each, MPI_UINT32_T, w->comm);
        for (int i = 0; i < each * w->size; ++i) {
            if (i % each < (is_listed ? counts[i / each] : each))
                expect(w, "allgather", each, w->out[i], mark(i / each, i % each));
        }
        // Each rank sends as many as the sender's number says.
        if (is_listed)
            MPI_Alltoallv(w->in, own, places, MPI_UINT32_T, w->out, counts, places, MPI_UINT32_T,
                          w->comm);
        else
            MPI_Alltoall(w->in, each, MPI_UINT32_T, w->out, each, MPI_UINT32_T, w->comm);
        for (int i = 0; i < each * w->size; ++i) {
            if (i % each < (is_listed ? counts[i / each] : each))
                expect(w, "alltoall", each, w->out[i], mark(i / each, w->rank * each + i % each));
        }
    }
    memcpy(w->out + w->rank * each, w->in, sizeof(uint32_t) * (size_t)each);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_UINT32_T, w->out, each, MPI_UINT32_T, w->comm);
    for (int i = 0; i < each * w->size; ++i)
        expect(w, "allgather in place", each, w->out[i], mark(i / each, i % each));
    memset(w->out, 0, sizeof(uint32_t) * (size_t)(each * w->size));
    memcpy(w->out + w->rank * each, w->in, sizeof(uint32_t) * (size_t)each);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_UINT32_T, w->out, counts, places, MPI_UINT32_T, w->comm);
    for (int i = 0; i < each * w->size; ++i) {
        if (i % each < counts[i / each])
            expect(w, "allgatherv in place", each, w->out[i], mark(i / each, i % each));
    }
    memcpy(w->out, w->in, sizeof(uint32_t) * (size_t)(each * w->size));
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_UINT32_T, w->out, each, MPI_UINT32_T, w->comm);
    for (int i = 0; i < each * w->size; ++i)
        expect(w, "alltoall in place", each, w->out[i], mark(i / each, w->rank * each + i % each));
}

static void count_frames(struct world* w, int are_allgathers)
{
    int index = 0, count = 0, provided = 0;
    uint64_t before = 0, after = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_index("frames_posted", MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_start(session, handle);
    MPI_T_pvar_read(session, handle, &before);
    for (int i = 0; i < repeats; ++i) {
        if (are_allgathers)
            MPI_Allgather(w->in, gathered, MPI_UINT32_T, w->out, gathered, MPI_UINT32_T, w->comm);
        else
            MPI_Barrier(w->comm);
    }
    MPI_T_pvar_read(session, handle, &after);
    if (w->rank == w->size - 1)
        printf("%llu frames\n", (unsigned long long)(after - before));
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
}

int main(int argc, char** argv)
{
    struct world w = {.comm = MPI_COMM_WORLD};
    MPI_Init(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "dealt") == 0) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank % 2, &w.comm);
    }
    MPI_Comm_rank(w.comm, &w.rank);
    MPI_Comm_size(w.comm, &w.size);
    MPI_Type_contiguous(2, MPI_UINT32_T, &w.pair);
    MPI_Type_commit(&w.pair);
    MPI_Op_create(compose, 0, &w.after);
    w.in = malloc(sizeof(uint32_t) * longest);
    w.out = malloc(sizeof(uint32_t) * longest);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        reductions(&w, lengths[i], 0);
        reductions(&w, lengths[i], 1);
        scattered(&w, lengths[i]);
        exchanged(&w, lengths[i]);
        for (int root = 0; root < w.size; ++root)
            rooted(&w, lengths[i], root);
    }
    const int are_allgathers = argc > 1 && strcmp(argv[1], "allgathers") == 0;
    if (are_allgathers && w.size * gathered > longest)
        MPI_Abort(MPI_COMM_WORLD, 2);
    count_frames(&w, are_allgathers);
    free(w.in);
    free(w.out);
    if (w.comm != MPI_COMM_WORLD)
        MPI_Comm_free(&w.comm);
    MPI_Op_free(&w.after);
    MPI_Type_free(&w.pair);
    MPI_Finalize();
    return w.failures != 0;
}
