// SPDX-License-Identifier: Apache-2.0
// Predefined datatypes: sizes, extents (by the call where built, and always by where elements
// land), transfers of every one, Get_count in its units.
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>
#include "../check.h"

struct type_row {
    MPI_Datatype type;
    const char* name;
    int size;
    int extent;
    // The standard lets a library answer MPI_UNDEFINED as size (no such type in the compiler).
    int optional;
    // Pairs: bytes of the value, and where the int begins; 0 elsewhere.
    int value_bytes;
    int index_at;
};

#define PLAIN(type, bytes) {type, #type, (int)(bytes), (int)(bytes), 0, 0, 0}
#define OPTIONAL(type, bytes) {type, #type, (int)(bytes), (int)(bytes), 1, 0, 0}
#define PAIR_OF(value) \
    struct {           \
        value v;       \
        int i;         \
    }
#define PAIR(type, value)                \
    {type,                               \
     #type,                              \
     (int)(sizeof(value) + sizeof(int)), \
     (int)sizeof(PAIR_OF(value)),        \
     0,                                  \
     (int)sizeof(value),                 \
     (int)offsetof(PAIR_OF(value), i)}

enum { elements = 5, row_max = 100 };

static int c_types(struct type_row* rows)
{
    const struct type_row table[] = {
        PLAIN(MPI_CHAR, 1),
        PLAIN(MPI_SIGNED_CHAR, 1),
        PLAIN(MPI_UNSIGNED_CHAR, 1),
        PLAIN(MPI_BYTE, 1),
        PLAIN(MPI_PACKED, 1),
        PLAIN(MPI_WCHAR, sizeof(wchar_t)),
        PLAIN(MPI_SHORT, sizeof(short)),
        PLAIN(MPI_UNSIGNED_SHORT, sizeof(short)),
        PLAIN(MPI_INT, sizeof(int)),
        PLAIN(MPI_UNSIGNED, sizeof(int)),
        PLAIN(MPI_LONG, sizeof(long)),
        PLAIN(MPI_UNSIGNED_LONG, sizeof(long)),
        PLAIN(MPI_LONG_LONG, sizeof(long long)),
        PLAIN(MPI_LONG_LONG_INT, sizeof(long long)),
        PLAIN(MPI_UNSIGNED_LONG_LONG, sizeof(long long)),
        PLAIN(MPI_FLOAT, sizeof(float)),
        PLAIN(MPI_DOUBLE, sizeof(double)),
        PLAIN(MPI_LONG_DOUBLE, sizeof(long double)),
        PLAIN(MPI_C_BOOL, sizeof(bool)),
        PLAIN(MPI_INT8_T, 1),
        PLAIN(MPI_UINT8_T, 1),
        PLAIN(MPI_INT16_T, 2),
        PLAIN(MPI_UINT16_T, 2),
        PLAIN(MPI_INT32_T, 4),
        PLAIN(MPI_UINT32_T, 4),
        PLAIN(MPI_INT64_T, 8),
        PLAIN(MPI_UINT64_T, 8),
        PLAIN(MPI_AINT, sizeof(MPI_Aint)),
        PLAIN(MPI_COUNT, sizeof(MPI_Count)),
        PLAIN(MPI_OFFSET, sizeof(MPI_Offset)),
        PLAIN(MPI_C_COMPLEX, sizeof(float complex)),
        PLAIN(MPI_C_FLOAT_COMPLEX, sizeof(float complex)),
        PLAIN(MPI_C_DOUBLE_COMPLEX, sizeof(double complex)),
        PLAIN(MPI_C_LONG_DOUBLE_COMPLEX, sizeof(long double complex)),
        PAIR(MPI_FLOAT_INT, float),
        PAIR(MPI_DOUBLE_INT, double),
        PAIR(MPI_LONG_INT, long),
        PAIR(MPI_2INT, int),
        PAIR(MPI_SHORT_INT, short),
        PAIR(MPI_LONG_DOUBLE_INT, long double),
    };
    memcpy(rows, table, sizeof table);
    return (int)(sizeof table / sizeof table[0]);
}

static int other_types(struct type_row* rows)
{
    const struct type_row table[] = {
        OPTIONAL(MPI_CXX_BOOL, 1),
        OPTIONAL(MPI_CXX_FLOAT_COMPLEX, 8),
        OPTIONAL(MPI_CXX_DOUBLE_COMPLEX, 16),
        OPTIONAL(MPI_CXX_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double)),
        OPTIONAL(MPI_LOGICAL, 4),
        OPTIONAL(MPI_INTEGER, 4),
        OPTIONAL(MPI_REAL, 4),
        OPTIONAL(MPI_COMPLEX, 8),
        OPTIONAL(MPI_DOUBLE_PRECISION, 8),
        OPTIONAL(MPI_DOUBLE_COMPLEX, 16),
        OPTIONAL(MPI_CHARACTER, 1),
        OPTIONAL(MPI_2REAL, 8),
        OPTIONAL(MPI_2DOUBLE_PRECISION, 16),
        OPTIONAL(MPI_2INTEGER, 8),
        OPTIONAL(MPI_LOGICAL1, 1),
        OPTIONAL(MPI_LOGICAL2, 2),
        OPTIONAL(MPI_LOGICAL4, 4),
        OPTIONAL(MPI_LOGICAL8, 8),
        OPTIONAL(MPI_LOGICAL16, 16),
        OPTIONAL(MPI_INTEGER1, 1),
        OPTIONAL(MPI_INTEGER2, 2),
        OPTIONAL(MPI_INTEGER4, 4),
        OPTIONAL(MPI_INTEGER8, 8),
        OPTIONAL(MPI_INTEGER16, 16),
        OPTIONAL(MPI_REAL2, 2),
        OPTIONAL(MPI_REAL4, 4),
        OPTIONAL(MPI_REAL8, 8),
        OPTIONAL(MPI_REAL16, 16),
        OPTIONAL(MPI_COMPLEX4, 4),
        OPTIONAL(MPI_COMPLEX8, 8),
        OPTIONAL(MPI_COMPLEX16, 16),
        OPTIONAL(MPI_COMPLEX32, 32),
    };
    memcpy(rows, table, sizeof table);
    return (int)(sizeof table / sizeof table[0]);
}

// Answers whether the type can be used on this library.
static int sizes(struct check* t, const struct type_row* row)
{
    int size = -1;
    MPI_Aint lower = -1, extent = -1;
    CHECK_CALL(t, MPI_Type_size(row->type, &size));
    if (row->optional && size == MPI_UNDEFINED)
        return 0;
    if (!CHECK_INT(t, size, row->size)) {
        fprintf(stderr, "datatypes: the last line is about %s\n", row->name);
    }
    const int code = MPI_Type_get_extent(row->type, &lower, &extent);
    if (code != MPI_SUCCESS) {
        REFUSED(t, code, MPI_ERR_UNSUPPORTED_OPERATION);
    } else {
        CHECK_INT(t, lower, 0);
        if (!CHECK_INT(t, extent, row->extent)) {
            fprintf(stderr, "datatypes: the last line is about %s\n", row->name);
        }
    }
    return 1;
}

// Whether byte `i` of an element carries data; gaps in and behind pairs do not.
static int carries(const struct type_row* row, int i)
{
    if (row->value_bytes == 0 || i < row->value_bytes)
        return 1;
    return i >= row->index_at && i < row->index_at + (int)sizeof(int);
}

static void transfer(struct check* t, const struct type_row* row, int count)
{
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    const size_t bytes = (size_t)(count * row->extent);
    unsigned char *out = check_memory(bytes), *in = check_memory(bytes);
    MPI_Status status;
    int got = -1, wrong = 0;
    check_fill(out, bytes, (uint64_t)t->rank + 1);
    memset(in, 0xEE, bytes);
    CHECK_CALL(t, MPI_Sendrecv(out, count, row->type, to, 1, in, count, row->type, from, 1,
                               MPI_COMM_WORLD, &status));
    CHECK_CALL(t, MPI_Get_count(&status, row->type, &got));
    CHECK_INT(t, got, count);
    for (size_t i = 0; i < bytes; ++i) {
        const int data = carries(row, (int)(i % (size_t)row->extent));
        const int want = data ? check_byte((uint64_t)from + 1, i) : 0xEE;
        wrong += in[i] != want;
    }
    if (!CHECK_INT(t, wrong, 0)) {
        fprintf(stderr, "datatypes: the last line is about %d of %s\n", count, row->name);
    }
    free(in);
    free(out);
}

// The types of a message need only agree in what they are made of: bytes are looked at untyped.
static void mixed_views(struct check* t)
{
    const int32_t out[6] = {1, 2, 3, 4, 5, 6};
    int32_t in[6] = {0};
    MPI_Status status;
    int count = -1;
    CHECK_CALL(t, MPI_Sendrecv(out, 6, MPI_INT32_T, t->rank, 2, in, 6, MPI_INT, t->rank, 2,
                               MPI_COMM_WORLD, &status));
    CHECK_CALL(t, MPI_Get_count(&status, MPI_2INT, &count));
    CHECK_INT(t, count, 3);
    CHECK_INT(t, in[5], 6);
    CHECK_CALL(t, MPI_Get_count(&status, MPI_LONG_DOUBLE, &count));
    CHECK_INT(t, count, MPI_UNDEFINED);
}

static int test_main(void)
{
    struct check t = check_start("datatypes");
    struct type_row rows[row_max];
    int count = c_types(rows);
    count += other_types(rows + count);
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int i = 0; i < count; ++i) {
        if (!sizes(&t, &rows[i]))
            continue;
        transfer(&t, &rows[i], 1);
        transfer(&t, &rows[i], elements);
        transfer(&t, &rows[i], 0);
        transfer(&t, &rows[i], 3001);
    }
    mixed_views(&t);
    return check_finish(&t);
}
