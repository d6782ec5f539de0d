// SPDX-License-Identifier: Apache-2.0
// MINLOC and MAXLOC on all pair types: the extreme value, and of equal ones the lowest index.
#include "../check.h"

enum { elements = 13 };

// Many ties: few values, all ranks have the same one in some places.
static int value_of(int rank, int i)
{
    return i % 4 == 0 ? 5 : (rank * 7 + i * 3) % 4 - 1;
}

// Indices are not in rank order, so that the tie rule is seen.
static int index_of(int rank, int size, int i)
{
    return (rank * (i % 2 == 0 ? 1 : size - 1) + i) % size;
}

static void expected(int size, int maximum, int i, int* value, int* index)
{
    *value = value_of(0, i);
    *index = index_of(0, size, i);
    for (int rank = 1; rank < size; ++rank) {
        const int v = value_of(rank, i), k = index_of(rank, size, i);
        const int better = maximum ? v > *value : v < *value;
        if (better || (v == *value && k < *index)) {
            *value = v;
            *index = k;
        }
    }
}

#define PAIR_TEST(name, type, first, second)                                                      \
    static void name(struct check* t, int maximum)                                                \
    {                                                                                             \
        struct {                                                                                  \
            first v;                                                                              \
            second k;                                                                             \
        } out[elements], in[elements], same[elements];                                            \
        const int root = (maximum + 1) % t->size;                                                 \
        memset(out, 0, sizeof out);                                                               \
        for (int i = 0; i < elements; ++i) {                                                      \
            out[i].v = (first)value_of(t->rank, i);                                               \
            out[i].k = (second)index_of(t->rank, t->size, i);                                     \
        }                                                                                         \
        memcpy(same, out, sizeof out);                                                            \
        CHECK_CALL(t, MPI_Allreduce(out, in, elements, type, maximum ? MPI_MAXLOC : MPI_MINLOC,   \
                                    MPI_COMM_WORLD));                                             \
        CHECK_CALL(t, MPI_Reduce(t->rank == root ? MPI_IN_PLACE : (void*)same, same, elements,    \
                                 type, maximum ? MPI_MAXLOC : MPI_MINLOC, root, MPI_COMM_WORLD)); \
        for (int i = 0; i < elements; ++i) {                                                      \
            int value, index;                                                                     \
            expected(t->size, maximum, i, &value, &index);                                        \
            CHECK_INT(t, in[i].v, value);                                                         \
            CHECK_INT(t, in[i].k, index);                                                         \
            if (t->rank == root)                                                                  \
                CHECK(t, same[i].v == in[i].v && same[i].k == in[i].k);                           \
        }                                                                                         \
    }

PAIR_TEST(two_ints, MPI_2INT, int, int)
PAIR_TEST(float_int, MPI_FLOAT_INT, float, int)
PAIR_TEST(double_int, MPI_DOUBLE_INT, double, int)
PAIR_TEST(long_int, MPI_LONG_INT, long, int)
PAIR_TEST(short_int, MPI_SHORT_INT, short, int)
PAIR_TEST(long_double_int, MPI_LONG_DOUBLE_INT, long double, int)
PAIR_TEST(two_reals, MPI_2REAL, float, float)
PAIR_TEST(two_doubles, MPI_2DOUBLE_PRECISION, double, double)
PAIR_TEST(two_integers, MPI_2INTEGER, int, int)

static int is_there(struct check* t, MPI_Datatype type)
{
    int size = MPI_UNDEFINED;
    CHECK_CALL(t, MPI_Type_size(type, &size));
    return size != MPI_UNDEFINED;
}

static int test_main(void)
{
    struct check t = check_start("pair_ops");
    for (int maximum = 0; maximum < 2; ++maximum) {
        two_ints(&t, maximum);
        float_int(&t, maximum);
        double_int(&t, maximum);
        long_int(&t, maximum);
        short_int(&t, maximum);
        long_double_int(&t, maximum);
        if (is_there(&t, MPI_2REAL))
            two_reals(&t, maximum);
        if (is_there(&t, MPI_2DOUBLE_PRECISION))
            two_doubles(&t, maximum);
        if (is_there(&t, MPI_2INTEGER))
            two_integers(&t, maximum);
    }
    return check_finish(&t);
}
