// SPDX-License-Identifier: Apache-2.0
// Parts of arrays: a subarray and the distributed arrays of every process of a grid hold the
// elements that counting index by index finds, in that order.
#include "../check.h"

enum { dims_max = 3, elements_max = 4096 };

// Place in memory of an element.
static int place_of(const int* index, const int* sizes, int ndims, int order)
{
    int place = 0;
    for (int i = 0; i < ndims; ++i) {
        const int d = order == MPI_ORDER_C ? i : ndims - 1 - i;
        place = place * sizes[d] + index[d];
    }
    return place;
}

// The next index in the order of memory; 0 behind the last.
static int step(int* index, const int* sizes, int ndims, int order)
{
    for (int i = 0; i < ndims; ++i) {
        const int d = order == MPI_ORDER_C ? ndims - 1 - i : i;
        if (++index[d] < sizes[d])
            return 1;
        index[d] = 0;
    }
    return 0;
}

static void compare(struct check* t, MPI_Datatype type, const int* wanted, int count, int total)
{
    int* memory = check_memory(sizeof(int) * elements_max);
    int* packed = check_memory(sizeof(int) * elements_max);
    int size = -1, position = 0, wrong = 0;
    MPI_Aint lb = -1, extent = -1;
    for (int i = 0; i < total; ++i)
        memory[i] = i;
    CHECK_CALL(t, MPI_Type_size(type, &size));
    CHECK_INT(t, size, count * 4);
    CHECK_CALL(t, MPI_Type_get_extent(type, &lb, &extent));
    CHECK(t, lb == 0 && extent == (MPI_Aint)total * 4);
    CHECK_CALL(t, MPI_Type_commit(&type));
    CHECK_CALL(t, MPI_Pack(memory, 1, type, packed, elements_max * 4, &position, MPI_COMM_SELF));
    CHECK_INT(t, position, count * 4);
    for (int i = 0; i < count; ++i)
        wrong += packed[i] != wanted[i];
    CHECK_INT(t, wrong, 0);
    CHECK_CALL(t, MPI_Type_free(&type));
    free(memory);
    free(packed);
}

static int total_of(const int* sizes, int ndims)
{
    int total = 1;
    for (int d = 0; d < ndims; ++d)
        total *= sizes[d];
    return total;
}

static void subarray(struct check* t, int ndims, const int* sizes, const int* parts,
                     const int* starts, int order)
{
    int wanted[elements_max], index[dims_max] = {0}, count = 0;
    MPI_Count sizes_c[dims_max], parts_c[dims_max], starts_c[dims_max];
    MPI_Datatype type;
    do {
        int is_inside = 1;
        for (int d = 0; d < ndims; ++d)
            is_inside &= index[d] >= starts[d] && index[d] < starts[d] + parts[d];
        if (is_inside)
            wanted[count++] = place_of(index, sizes, ndims, order);
    } while (step(index, sizes, ndims, order));
    CHECK_CALL(t, MPI_Type_create_subarray(ndims, sizes, parts, starts, order, MPI_INT, &type));
    compare(t, type, wanted, count, total_of(sizes, ndims));
    for (int d = 0; d < ndims; ++d) {
        sizes_c[d] = sizes[d];
        parts_c[d] = parts[d];
        starts_c[d] = starts[d];
    }
    CHECK_CALL(
        t, MPI_Type_create_subarray_c(ndims, sizes_c, parts_c, starts_c, order, MPI_INT, &type));
    compare(t, type, wanted, count, total_of(sizes, ndims));
}

struct grid {
    int ndims;
    int sizes[dims_max];
    int kinds[dims_max];
    int arguments[dims_max];
    int processes[dims_max];
};

static int owner_of(const struct grid* g, int d, int index)
{
    int block = g->arguments[d];
    if (g->kinds[d] == MPI_DISTRIBUTE_NONE)
        return 0;
    if (block == MPI_DISTRIBUTE_DFLT_DARG && g->kinds[d] == MPI_DISTRIBUTE_CYCLIC)
        block = 1;
    if (block == MPI_DISTRIBUTE_DFLT_DARG)
        block = (g->sizes[d] + g->processes[d] - 1) / g->processes[d];
    return index / block % g->processes[d];
}

static void distributed(struct check* t, const struct grid* g, int order)
{
    int size = total_of(g->processes, g->ndims), covered = 0;
    for (int rank = 0; rank < size; ++rank) {
        int wanted[elements_max], index[dims_max] = {0}, count = 0;
        MPI_Datatype type;
        do {
            int owner = 0;
            for (int d = 0; d < g->ndims; ++d)
                owner = owner * g->processes[d] + owner_of(g, d, index[d]);
            if (owner == rank)
                wanted[count++] = place_of(index, g->sizes, g->ndims, order);
        } while (step(index, g->sizes, g->ndims, order));
        CHECK_CALL(t, MPI_Type_create_darray(size, rank, g->ndims, g->sizes, g->kinds, g->arguments,
                                             g->processes, order, MPI_INT, &type));
        compare(t, type, wanted, count, total_of(g->sizes, g->ndims));
        MPI_Count wide[dims_max];
        for (int d = 0; d < g->ndims; ++d)
            wide[d] = g->sizes[d];
        CHECK_CALL(t, MPI_Type_create_darray_c(size, rank, g->ndims, wide, g->kinds, g->arguments,
                                               g->processes, order, MPI_INT, &type));
        compare(t, type, wanted, count, total_of(g->sizes, g->ndims));
        covered += count;
    }
    CHECK_INT(t, covered, total_of(g->sizes, g->ndims));
}

static void wrong_shapes(struct check* t)
{
    const int sizes[] = {4, 4}, parts[] = {2, 3}, starts[] = {1, 2}, none[] = {0, 0};
    const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
    const int defaults[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    const int two[] = {2, 1}, small[] = {1, 1};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    REFUSED(t, MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type),
            MPI_ERR_ARG);
    REFUSED(t, MPI_Type_create_subarray(2, sizes, none, none, MPI_ORDER_C, MPI_INT, &type),
            MPI_ERR_ARG);
    REFUSED(t, MPI_Type_create_subarray(2, sizes, parts, none, 99, MPI_INT, &type), MPI_ERR_ARG);
    REFUSED(
        t,
        MPI_Type_create_darray(3, 0, 2, sizes, kinds, defaults, two, MPI_ORDER_C, MPI_INT, &type),
        MPI_ERR_ARG);
    REFUSED(t,
            MPI_Type_create_darray(2, 0, 2, sizes, kinds, small, two, MPI_ORDER_C, MPI_INT, &type),
            MPI_ERR_ARG);
    CHECK(t, type == MPI_DATATYPE_NULL);
}

static int test_main(void)
{
    struct check t = check_start("datatype/arrays");
    const int orders[] = {MPI_ORDER_C, MPI_ORDER_FORTRAN};
    const int none = MPI_DISTRIBUTE_NONE, block = MPI_DISTRIBUTE_BLOCK;
    const int cyclic = MPI_DISTRIBUTE_CYCLIC, dflt = MPI_DISTRIBUTE_DFLT_DARG;
    const struct grid grids[] = {
        {1, {10}, {block}, {dflt}, {3}},
        {1, {10}, {cyclic}, {dflt}, {3}},
        {1, {11}, {cyclic}, {2}, {3}},
        {1, {5}, {cyclic}, {3}, {4}},
        {2, {7, 5}, {block, cyclic}, {4, 2}, {2, 2}},
        {2, {6, 4}, {none, block}, {dflt, dflt}, {1, 4}},
        {3, {4, 5, 3}, {cyclic, none, block}, {dflt, dflt, 2}, {2, 1, 2}},
        {3, {3, 3, 9}, {block, cyclic, cyclic}, {dflt, 2, 4}, {3, 2, 2}},
    };
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int o = 0; o < 2; ++o) {
        subarray(&t, 1, (int[]){9}, (int[]){4}, (int[]){3}, orders[o]);
        subarray(&t, 2, (int[]){5, 7}, (int[]){3, 2}, (int[]){1, 4}, orders[o]);
        subarray(&t, 3, (int[]){4, 5, 6}, (int[]){2, 5, 3}, (int[]){1, 0, 2}, orders[o]);
        subarray(&t, 3, (int[]){4, 5, 6}, (int[]){4, 5, 6}, (int[]){0, 0, 0}, orders[o]);
        for (size_t g = 0; g < sizeof grids / sizeof grids[0]; ++g)
            distributed(&t, &grids[g], orders[o]);
    }
    if (!t.lenient)
        wrong_shapes(&t);
    return check_finish(&t);
}
