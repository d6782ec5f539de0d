// SPDX-License-Identifier: Apache-2.0
// Pair types with gaps in every collective: the gaps of receive buffers stay as they were, also in
// reductions, in place, and where a user's operator works on the pairs.
#include <stddef.h>
#include "../check.h"

enum { elements = 11, filler = 0x5A, vectors_max = 64 };

// Values of element `i` of the block that `from` sends to `to`.
static int value_of(int from, int to, int i)
{
    return (from * 5 + to * 3 + i * 7) % 100;
}
static int index_of(int from, int to, int i)
{
    return from * 10000 + to * 100 + i;
}

static int finish(int code, MPI_Request* request)
{
    return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

#define GAP_TEST(name, type, first)                                                                \
    struct pair_##name {                                                                           \
        first v;                                                                                   \
        int k;                                                                                     \
    };                                                                                             \
    /* The operand of the lower ranks stays. */                                                    \
    static void copy_##name(void* in, void* inout, int* length, MPI_Datatype* datatype)            \
    {                                                                                              \
        const struct pair_##name* from = in;                                                       \
        struct pair_##name* to = inout;                                                            \
        for (int i = 0; i < *length && *datatype == type; ++i) {                                   \
            to[i].v = from[i].v;                                                                   \
            to[i].k = from[i].k;                                                                   \
        }                                                                                          \
    }                                                                                              \
    static void fill_##name(struct pair_##name* p, int from, int to)                               \
    {                                                                                              \
        for (int i = 0; i < elements; ++i) {                                                       \
            p[i].v = (first)value_of(from, to, i);                                                 \
            p[i].k = index_of(from, to, i);                                                        \
        }                                                                                          \
    }                                                                                              \
    /* Right values in a block whose other bytes are still filler. */                              \
    static void look_##name(struct check* t, const struct pair_##name* p, int from, int to)        \
    {                                                                                              \
        const size_t second = offsetof(struct pair_##name, k);                                     \
        int wrong = 0;                                                                             \
        for (int i = 0; i < elements; ++i) {                                                       \
            const unsigned char* bytes = (const unsigned char*)&p[i];                              \
            wrong += p[i].v != (first)value_of(from, to, i) || p[i].k != index_of(from, to, i);    \
            for (size_t at = sizeof(first); at < second; ++at)                                     \
                wrong += bytes[at] != filler;                                                      \
            for (size_t at = second + 4; at < sizeof p[i]; ++at)                                   \
                wrong += bytes[at] != filler;                                                      \
        }                                                                                          \
        CHECK_INT(t, wrong, 0);                                                                    \
    }                                                                                              \
    static void name(struct check* t)                                                              \
    {                                                                                              \
        const size_t block = elements * sizeof(struct pair_##name);                                \
        const size_t all = block * (size_t)t->size;                                                \
        struct pair_##name *out = check_memory(all), *in = check_memory(all);                      \
        int counts[vectors_max], displs[vectors_max];                                              \
        MPI_Datatype types[vectors_max];                                                           \
        MPI_Request request;                                                                       \
        MPI_Op copy;                                                                               \
        CHECK_CALL(t, MPI_Op_create(copy_##name, 0, &copy));                                       \
        for (int rank = 0; rank < t->size; ++rank) {                                               \
            counts[rank] = elements;                                                               \
            displs[rank] = (t->size - 1 - rank) * elements;                                        \
            types[rank] = type;                                                                    \
        }                                                                                          \
        memset(out, 0xEE, all);                                                                    \
        for (int to = 0; to < t->size; ++to)                                                       \
            fill_##name(out + to * elements, t->rank, to);                                         \
        memset(in, filler, all);                                                                   \
        if (t->rank == 0)                                                                          \
            fill_##name(in, 0, 0);                                                                 \
        CHECK_CALL(t, MPI_Bcast(in, elements, type, 0, MPI_COMM_WORLD));                           \
        look_##name(t, in, 0, 0);                                                                  \
        memset(in, filler, all);                                                                   \
        CHECK_CALL(t, MPI_Alltoall(out, elements, type, in, elements, type, MPI_COMM_WORLD));      \
        for (int from = 0; from < t->size; ++from) {                                               \
            look_##name(t, in + from * elements, from, t->rank);                                   \
        }                                                                                          \
        CHECK_CALL(t, finish(MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, elements, type, \
                                           MPI_COMM_WORLD, &request),                              \
                             &request));                                                           \
        for (int to = 0; to < t->size; ++to)                                                       \
            look_##name(t, in + to * elements, t->rank, to);                                       \
        memset(in, filler, all);                                                                   \
        CHECK_CALL(t, finish(MPI_Iallgatherv(out, elements, type, in, counts, displs, type,        \
                                             MPI_COMM_WORLD, &request),                            \
                             &request));                                                           \
        for (int from = 0; from < t->size; ++from)                                                 \
            look_##name(t, in + displs[from], from, 0);                                            \
        for (int rank = 0; rank < t->size; ++rank) {                                               \
            displs[rank] = rank * (int)block;                                                      \
        }                                                                                          \
        memset(in, filler, all);                                                                   \
        CHECK_CALL(t, MPI_Alltoallw(out, counts, displs, types, in, counts, displs, types,         \
                                    MPI_COMM_WORLD));                                              \
        for (int from = 0; from < t->size; ++from) {                                               \
            look_##name(t, in + from * elements, from, t->rank);                                   \
        }                                                                                          \
        memset(in, filler, all);                                                                   \
        CHECK_CALL(                                                                                \
            t, MPI_Scatter(out, elements, type, in, elements, type, t->size - 1, MPI_COMM_WORLD)); \
        look_##name(t, in, t->size - 1, t->rank);                                                  \
        memset(in, filler, all);                                                                   \
        CHECK_CALL(t, MPI_Allreduce(out, in, elements, type, copy, MPI_COMM_WORLD));               \
        look_##name(t, in, 0, 0);                                                                  \
        CHECK_CALL(                                                                                \
            t, finish(MPI_Iscan(MPI_IN_PLACE, in, elements, type, copy, MPI_COMM_WORLD, &request), \
                      &request));                                                                  \
        look_##name(t, in, 0, 0);                                                                  \
        memset(in, filler, all);                                                                   \
        /* MPICH 5.0.2 writes past its scratch memory here. */                                     \
        if (!t->lenient) {                                                                         \
            CHECK_CALL(t,                                                                          \
                       MPI_Reduce_scatter_block(out, in, elements, type, copy, MPI_COMM_WORLD));   \
            look_##name(t, in, 0, t->rank);                                                        \
        }                                                                                          \
        CHECK_CALL(t,                                                                              \
                   MPI_Allreduce(MPI_IN_PLACE, in, elements, type, MPI_MAXLOC, MPI_COMM_WORLD));   \
        memset(in, filler, all);                                                                   \
        fill_##name(in, 0, 0);                                                                     \
        CHECK_CALL(t, MPI_Reduce_local(in, in + 1, 0, type, MPI_MINLOC));                          \
        look_##name(t, in, 0, 0);                                                                  \
        if (t->size > 1) {                                                                         \
            fill_##name(in + elements, 0, 0);                                                      \
            CHECK_CALL(t, MPI_Reduce_local(out, in + elements, elements, type, copy));             \
            look_##name(t, in + elements, t->rank, 0);                                             \
        }                                                                                          \
        CHECK_CALL(t, MPI_Op_free(&copy));                                                         \
        free(in);                                                                                  \
        free(out);                                                                                 \
    }

GAP_TEST(short_int, MPI_SHORT_INT, short)
GAP_TEST(double_int, MPI_DOUBLE_INT, double)
GAP_TEST(long_int, MPI_LONG_INT, long)

static int test_main(void)
{
    struct check t = check_start("gaps");
    short_int(&t);
    double_int(&t);
    long_int(&t);
    return check_finish(&t);
}
