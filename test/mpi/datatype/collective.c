// SPDX-License-Identifier: Apache-2.0
// Derived types in collectives, blocking and not: what lies between the elements stays. Reductions
// take them with operators of the program's own.
#include "layouts.h"

enum { elements = 3, ranks_max = 8 };

static int finish(int code, MPI_Request* request)
{
    return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void broadcast(struct check* t, int kind, int is_started)
{
    struct layout l = layout_make(t, kind);
    MPI_Request request = MPI_REQUEST_NULL;
    for (int root = 0; root < t->size; ++root) {
        struct area a = layout_area(&l, elements);
        if (t->rank == root)
            layout_fill(&l, &a, elements, root);
        CHECK_CALL(t, is_started ? finish(MPI_Ibcast(a.address, elements, l.type, root,
                                                     MPI_COMM_WORLD, &request),
                                          &request)
                                 : MPI_Bcast(a.address, elements, l.type, root, MPI_COMM_WORLD));
        CHECK_INT(t, layout_wrong(&l, &a, elements * l.ints, root), 0);
        free(a.memory);
    }
    CHECK_CALL(t, MPI_Type_free(&l.type));
}

// The blocks of all ranks, one behind the other, in the layout of `l`.
static int blocks_wrong(const struct layout* l, const struct area* all, int size)
{
    int wrong = 0, touched = 0;
    for (int from = 0; from < size; ++from) {
        const int* block = all->address + from * elements * l->extent;
        for (int i = 0; i < elements * l->ints; ++i) {
            const int place = i / l->ints * l->extent + l->places[i % l->ints];
            wrong += block[place] != layout_value(from, i);
        }
    }
    for (int i = 0; i < all->ints; ++i)
        touched += all->memory[i] != layout_filler;
    return wrong + (touched != size * elements * l->ints);
}

static void gather(struct check* t, int kind, int is_started)
{
    struct layout l = layout_make(t, kind);
    struct area own = layout_area(&l, elements), all = layout_area(&l, elements * t->size);
    struct area listed = layout_area(&l, elements * t->size);
    MPI_Request request = MPI_REQUEST_NULL;
    int counts[ranks_max], places[ranks_max];
    for (int i = 0; i < t->size; ++i) {
        counts[i] = elements;
        places[i] = i * elements;
    }
    layout_fill(&l, &own, elements, t->rank);
    CHECK_CALL(t, is_started ? finish(MPI_Iallgather(own.address, elements, l.type, all.address,
                                                     elements, l.type, MPI_COMM_WORLD, &request),
                                      &request)
                             : MPI_Allgather(own.address, elements, l.type, all.address, elements,
                                             l.type, MPI_COMM_WORLD));
    CHECK_INT(t, blocks_wrong(&l, &all, t->size), 0);
    CHECK_CALL(t, is_started
                      ? finish(MPI_Iallgatherv(own.address, elements, l.type, listed.address,
                                               counts, places, l.type, MPI_COMM_WORLD, &request),
                               &request)
                      : MPI_Allgatherv(own.address, elements, l.type, listed.address, counts,
                                       places, l.type, MPI_COMM_WORLD));
    CHECK_INT(t, blocks_wrong(&l, &listed, t->size), 0);

    // Back again: every rank's block from the last rank.
    struct area back = layout_area(&l, elements);
    const int root = t->size - 1;
    CHECK_CALL(t, MPI_Scatter(all.address, elements, l.type, back.address, elements, l.type, root,
                              MPI_COMM_WORLD));
    CHECK_INT(t, layout_wrong(&l, &back, elements * l.ints, t->rank), 0);
    free(own.memory);
    free(all.memory);
    free(listed.memory);
    free(back.memory);
    CHECK_CALL(t, MPI_Type_free(&l.type));
}

// A transposition: what is sent is a column of the matrix, what arrives is a row.
static void transpose(struct check* t)
{
    const int n = t->size;
    int matrix[ranks_max * ranks_max], turned[ranks_max * ranks_max], wrong = 0;
    int counts[ranks_max], out[ranks_max], in[ranks_max];
    MPI_Datatype column, columns[ranks_max], rows[ranks_max];
    CHECK_CALL(t, MPI_Type_vector(n, 1, n, MPI_INT, &column));
    CHECK_CALL(t, MPI_Type_commit(&column));
    for (int i = 0; i < n; ++i) {
        counts[i] = 1;
        out[i] = i * (int)sizeof(int);
        in[i] = i * n * (int)sizeof(int);
        columns[i] = column;
        CHECK_CALL(t, MPI_Type_contiguous(n, MPI_INT, &rows[i]));
        CHECK_CALL(t, MPI_Type_commit(&rows[i]));
    }
    for (int i = 0; i < n * n; ++i)
        matrix[i] = t->rank * 1000 + i;
    CHECK_CALL(
        t, MPI_Alltoallw(matrix, counts, out, columns, turned, counts, in, rows, MPI_COMM_WORLD));
    for (int from = 0; from < n; ++from) {
        for (int i = 0; i < n; ++i)
            wrong += turned[from * n + i] != from * 1000 + i * n + t->rank;
    }
    CHECK_INT(t, wrong, 0);
    CHECK_CALL(t, MPI_Type_free(&column));
    for (int i = 0; i < n; ++i)
        CHECK_CALL(t, MPI_Type_free(&rows[i]));
}

// Products of 2x2 matrices of integers modulo a prime: not commutative. Each is spread over a
// struct with holes.
enum { modulus = 9973, holes = 9 };

static void multiply(void* in, void* inout, int* length, MPI_Datatype* datatype)
{
    int size = 0;
    MPI_Aint lb = 0, extent = 0;
    MPI_Type_size(*datatype, &size);
    MPI_Type_get_extent(*datatype, &lb, &extent);
    for (int i = 0; i < *length && size == 16; ++i) {
        const int* a = (const int*)((const char*)in + i * extent);
        int* b = (int*)((char*)inout + i * extent);
        const int product[] = {
            (a[0] * b[0] + a[2] * b[4]) % modulus, (a[0] * b[2] + a[2] * b[6]) % modulus,
            (a[4] * b[0] + a[6] * b[4]) % modulus, (a[4] * b[2] + a[6] * b[6]) % modulus};
        for (int k = 0; k < 4; ++k)
            b[2 * k] = product[k];
    }
}

static void fill_matrix(int* m, int rank, int i)
{
    for (int k = 0; k < 4; ++k)
        m[2 * k] = (rank * 7 + i * 3 + k * k + 1) % modulus;
}

static void reduce(struct check* t, int is_freed)
{
    enum { matrices = 5 };
    int own[matrices * holes], result[matrices * holes], expected[matrices * holes];
    MPI_Datatype row, type;
    MPI_Op op;
    MPI_Request request;
    int wrong = 0, matrix_count = matrices;
    CHECK_CALL(t, MPI_Type_vector(4, 1, 2, MPI_INT, &row));
    CHECK_CALL(t, MPI_Type_create_resized(row, 0, holes * 4, &type));
    CHECK_CALL(t, MPI_Type_commit(&type));
    CHECK_CALL(t, MPI_Op_create(multiply, 0, &op));
    for (int i = 0; i < matrices * holes; ++i)
        own[i] = result[i] = expected[i] = layout_filler;
    for (int i = 0; i < matrices; ++i) {
        fill_matrix(own + i * holes, t->rank, i);
        fill_matrix(expected + i * holes, t->size - 1, i);
    }
    for (int rank = t->size - 2; rank >= 0; --rank) {
        int factor[matrices * holes];
        for (int i = 0; i < matrices; ++i)
            fill_matrix(factor + i * holes, rank, i);
        multiply(factor, expected, &matrix_count, &type);
    }
    CHECK_CALL(t, MPI_Iallreduce(own, result, matrices, type, op, MPI_COMM_WORLD, &request));
    if (is_freed) {
        CHECK_CALL(t, MPI_Type_free(&type));
        CHECK_CALL(t, MPI_Op_free(&op));
    }
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < matrices * holes; ++i)
        wrong += result[i] != expected[i];
    CHECK_INT(t, wrong, 0);
    if (!is_freed) {
        CHECK_CALL(t, MPI_Allreduce(MPI_IN_PLACE, own, matrices, type, op, MPI_COMM_WORLD));
        CHECK_INT(t, memcmp(own, expected, sizeof own), 0);
        CHECK_CALL(t, MPI_Type_free(&type));
        CHECK_CALL(t, MPI_Op_free(&op));
    }
    CHECK_CALL(t, MPI_Type_free(&row));
}

static int test_main(void)
{
    struct check t = check_start("datatype/collective");
    for (int kind = 0; kind < layout_kinds; ++kind) {
        for (int is_started = 0; is_started < 2; ++is_started) {
            broadcast(&t, kind, is_started);
            gather(&t, kind, is_started);
        }
    }
    transpose(&t);
    reduce(&t, 0);
    reduce(&t, 1);
    return check_finish(&t);
}
