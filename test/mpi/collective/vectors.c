// SPDX-License-Identifier: Apache-2.0
// Gatherv, Scatterv, Allgatherv, Alltoallv, Alltoallw and their I-forms: blocks of different sizes,
// some empty, with holes between them, in an order that is not that of the ranks; in place.
#include "../check.h"

enum { hole = 3, filler = 0x5A };

static int finish(int code, MPI_Request* request)
{
    return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

// Length of the block that goes from one rank to another, 0 for some pairs.
static int length_of(int from, int to, int scale)
{
    return (from * 3 + to * 5) % 4 * scale + (from + to) % 2;
}

static int element_of(int from, int to, int i)
{
    return from * 1000003 + to * 10007 + i;
}

// Blocks lie in the order of descending ranks with `hole` elements before each. Returns the room.
static int lay_out(int size, const int* counts, int* displs)
{
    int at = 0;
    for (int rank = size - 1; rank >= 0; --rank) {
        at += hole;
        displs[rank] = at;
        at += counts[rank];
    }
    return at + hole;
}

static int* vector_of(int count)
{
    int* vector = check_memory((size_t)count * sizeof *vector);
    memset(vector, filler, (size_t)count * sizeof *vector);
    return vector;
}

// Every element of the blocks is right, and every other one is untouched.
static void check_vector(struct check* t, const int* vector, int room, const int* counts,
                         const int* displs, const int* froms, const int* tos)
{
    int wrong = 0, untouched;
    char* seen = check_memory((size_t)room);
    memset(&untouched, filler, sizeof untouched);
    memset(seen, 0, (size_t)room);
    for (int rank = 0; rank < t->size; ++rank) {
        for (int i = 0; i < counts[rank]; ++i) {
            wrong += vector[displs[rank] + i] != element_of(froms[rank], tos[rank], i);
            seen[displs[rank] + i] = 1;
        }
    }
    for (int i = 0; i < room; ++i)
        wrong += !seen[i] && vector[i] != untouched;
    CHECK_INT(t, wrong, 0);
    free(seen);
}

struct side {
    int *counts, *displs, *froms, *tos, *vector, room;
};

static struct side side_of(const struct check* t)
{
    struct side s = {
        vector_of(t->size), vector_of(t->size), vector_of(t->size), vector_of(t->size), NULL, 0};
    return s;
}

static void lay_side(const struct check* t, struct side* s)
{
    s->room = lay_out(t->size, s->counts, s->displs);
    s->vector = vector_of(s->room);
}

static void fill_block(struct side* s, int rank)
{
    for (int i = 0; i < s->counts[rank]; ++i) {
        s->vector[s->displs[rank] + i] = element_of(s->froms[rank], s->tos[rank], i);
    }
}

static void free_side(struct side* s)
{
    free(s->counts);
    free(s->displs);
    free(s->froms);
    free(s->tos);
    free(s->vector);
}

// One block of each rank, its length known by rank: what gatherv, scatterv and allgatherv share.
static struct side by_rank(const struct check* t, int scale)
{
    struct side s = side_of(t);
    for (int rank = 0; rank < t->size; ++rank) {
        s.counts[rank] = length_of(rank, 1, scale);
        s.froms[rank] = rank;
        s.tos[rank] = 1;
    }
    lay_side(t, &s);
    return s;
}

static void gatherv(struct check* t, int root, int scale, int form)
{
    MPI_Request request;
    struct side all = by_rank(t, scale);
    const int at_root = t->rank == root, in_place = at_root && form >= 2;
    const int count = all.counts[t->rank];
    int* own = vector_of(count);
    for (int i = 0; i < count; ++i)
        own[i] = element_of(t->rank, 1, i);
    if (in_place)
        fill_block(&all, t->rank);
    const void* from = in_place ? MPI_IN_PLACE : own;
    int *to = at_root ? all.vector : NULL, *counts = at_root ? all.counts : NULL,
        *displs = at_root ? all.displs : NULL;
    if (form % 2) {
        CHECK_CALL(t, finish(MPI_Igatherv(from, count, MPI_INT, to, counts, displs, MPI_INT32_T,
                                          root, MPI_COMM_WORLD, &request),
                             &request));
    } else {
        CHECK_CALL(t, MPI_Gatherv(from, count, MPI_INT, to, counts, displs, MPI_INT32_T, root,
                                  MPI_COMM_WORLD));
    }
    if (at_root) {
        check_vector(t, all.vector, all.room, all.counts, all.displs, all.froms, all.tos);
    }
    free(own);
    free_side(&all);
}

static void scatterv(struct check* t, int root, int scale, int form)
{
    MPI_Request request;
    struct side all = by_rank(t, scale);
    const int at_root = t->rank == root, in_place = at_root && form >= 2;
    const int count = all.counts[t->rank];
    int *own = vector_of(count + 1), wrong = 0, untouched = own[count];
    for (int rank = 0; rank < t->size; ++rank)
        fill_block(&all, rank);
    void* to = in_place ? MPI_IN_PLACE : own;
    const int *from = at_root ? all.vector : NULL, *counts = at_root ? all.counts : NULL,
              *displs = at_root ? all.displs : NULL;
    if (form % 2) {
        CHECK_CALL(t, finish(MPI_Iscatterv(from, counts, displs, MPI_INT, to, count, MPI_INT32_T,
                                           root, MPI_COMM_WORLD, &request),
                             &request));
    } else {
        CHECK_CALL(t, MPI_Scatterv(from, counts, displs, MPI_INT, to, count, MPI_INT32_T, root,
                                   MPI_COMM_WORLD));
    }
    for (int i = 0; i < count && !in_place; ++i)
        wrong += own[i] != element_of(t->rank, 1, i);
    CHECK_INT(t, wrong, 0);
    CHECK_INT(t, own[count], untouched);
    free(own);
    free_side(&all);
}

static void allgatherv(struct check* t, int scale, int form)
{
    MPI_Request request;
    struct side all = by_rank(t, scale);
    const int count = all.counts[t->rank], in_place = form >= 2;
    int* own = vector_of(count);
    for (int i = 0; i < count; ++i)
        own[i] = element_of(t->rank, 1, i);
    if (in_place)
        fill_block(&all, t->rank);
    const void* from = in_place ? MPI_IN_PLACE : own;
    if (form % 2) {
        CHECK_CALL(t, finish(MPI_Iallgatherv(from, count, MPI_INT, all.vector, all.counts,
                                             all.displs, MPI_INT, MPI_COMM_WORLD, &request),
                             &request));
    } else {
        CHECK_CALL(t, MPI_Allgatherv(from, count, MPI_INT, all.vector, all.counts, all.displs,
                                     MPI_INT, MPI_COMM_WORLD));
    }
    check_vector(t, all.vector, all.room, all.counts, all.displs, all.froms, all.tos);
    free(own);
    free_side(&all);
}

static struct side from_me(const struct check* t, int scale)
{
    struct side s = side_of(t);
    for (int rank = 0; rank < t->size; ++rank) {
        s.counts[rank] = length_of(t->rank, rank, scale);
        s.froms[rank] = t->rank;
        s.tos[rank] = rank;
    }
    lay_side(t, &s);
    for (int rank = 0; rank < t->size; ++rank)
        fill_block(&s, rank);
    return s;
}

static struct side to_me(const struct check* t, int scale)
{
    struct side s = side_of(t);
    for (int rank = 0; rank < t->size; ++rank) {
        s.counts[rank] = length_of(rank, t->rank, scale);
        s.froms[rank] = rank;
        s.tos[rank] = t->rank;
    }
    lay_side(t, &s);
    return s;
}

static void alltoallv(struct check* t, int scale, int form)
{
    MPI_Request request;
    struct side out = from_me(t, scale), in = to_me(t, scale);
    if (form) {
        CHECK_CALL(
            t, finish(MPI_Ialltoallv(out.vector, out.counts, out.displs, MPI_INT, in.vector,
                                     in.counts, in.displs, MPI_INT32_T, MPI_COMM_WORLD, &request),
                      &request));
    } else {
        CHECK_CALL(t, MPI_Alltoallv(out.vector, out.counts, out.displs, MPI_INT, in.vector,
                                    in.counts, in.displs, MPI_INT32_T, MPI_COMM_WORLD));
    }
    check_vector(t, in.vector, in.room, in.counts, in.displs, in.froms, in.tos);
    free_side(&out);
    free_side(&in);
}

// In place both directions of a pair have one length: that of the lower rank to the higher.
static void alltoallv_in_place(struct check* t, int scale, int form)
{
    MPI_Request request;
    struct side in = side_of(t);
    for (int rank = 0; rank < t->size; ++rank) {
        const int low = rank < t->rank ? rank : t->rank, high = rank + t->rank - low;
        in.counts[rank] = length_of(low, high, scale);
        in.froms[rank] = t->rank;
        in.tos[rank] = rank;
    }
    lay_side(t, &in);
    for (int rank = 0; rank < t->size; ++rank)
        fill_block(&in, rank);
    if (form) {
        CHECK_CALL(t,
                   finish(MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in.vector,
                                         in.counts, in.displs, MPI_INT, MPI_COMM_WORLD, &request),
                          &request));
    } else {
        CHECK_CALL(t, MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in.vector,
                                    in.counts, in.displs, MPI_INT, MPI_COMM_WORLD));
    }
    check_vector(t, in.vector, in.room, in.counts, in.displs, in.tos, in.froms);
    free_side(&in);
}

// Alltoallw: displacements in bytes; one side calls the bytes of a pair ints, the other may call
// them by another name of the same type.
static void alltoallw(struct check* t, int scale, int form)
{
    MPI_Request request;
    struct side out = from_me(t, scale), in = to_me(t, scale);
    MPI_Datatype* ints = check_memory((size_t)t->size * sizeof *ints);
    int *out_bytes = vector_of(t->size), *in_bytes = vector_of(t->size);
    for (int rank = 0; rank < t->size; ++rank) {
        ints[rank] = rank % 2 ? MPI_INT : MPI_INT32_T;
        out_bytes[rank] = out.displs[rank] * (int)sizeof(int);
        in_bytes[rank] = in.displs[rank] * (int)sizeof(int);
    }
    if (form) {
        CHECK_CALL(t, finish(MPI_Ialltoallw(out.vector, out.counts, out_bytes, ints, in.vector,
                                            in.counts, in_bytes, ints, MPI_COMM_WORLD, &request),
                             &request));
    } else {
        CHECK_CALL(t, MPI_Alltoallw(out.vector, out.counts, out_bytes, ints, in.vector, in.counts,
                                    in_bytes, ints, MPI_COMM_WORLD));
    }
    check_vector(t, in.vector, in.room, in.counts, in.displs, in.froms, in.tos);
    free(out_bytes);
    free(in_bytes);
    free(ints);
    free_side(&out);
    free_side(&in);
}

// The `_c` forms with MPI_Count and MPI_Aint arrays.
static void large_forms(struct check* t)
{
    MPI_Count* counts = check_memory((size_t)t->size * sizeof *counts);
    MPI_Aint* displs = check_memory((size_t)t->size * sizeof *displs);
    long long* in = check_memory((size_t)(t->size * t->size) * sizeof *in);
    const long long own[64] = {t->rank, t->rank + 100};
    int at = 0;
    for (int rank = 0; rank < t->size; ++rank) {
        counts[rank] = rank % 3;
        displs[rank] = at;
        at += rank % 3;
    }
    CHECK_CALL(t, MPI_Allgatherv_c(own, counts[t->rank], MPI_LONG_LONG, in, counts, displs,
                                   MPI_LONG_LONG, MPI_COMM_WORLD));
    for (int rank = 0; rank < t->size; ++rank) {
        for (int i = 0; i < rank % 3; ++i)
            CHECK_INT(t, in[displs[rank] + i], rank + 100 * i);
    }
    free(in);
    free(displs);
    free(counts);
}

static int test_main(void)
{
    struct check t = check_start("vectors");
    const int scales[] = {0, 1, 700, 30000};
    for (int i = 0; i < 4; ++i) {
        for (int form = 0; form < 4; ++form) {
            for (int root = 0; root < t.size; ++root) {
                gatherv(&t, root, scales[i], form);
                scatterv(&t, root, scales[i], form);
            }
            allgatherv(&t, scales[i], form);
        }
        for (int form = 0; form < 2; ++form) {
            alltoallv(&t, scales[i], form);
            alltoallv_in_place(&t, scales[i], form);
            alltoallw(&t, scales[i], form);
        }
    }
    large_forms(&t);
    return check_finish(&t);
}
