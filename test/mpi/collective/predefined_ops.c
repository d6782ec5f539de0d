// SPDX-License-Identifier: Apache-2.0
// Reduce and Allreduce with every predefined op on every predefined type it is allowed on
// (MPI 5.0, 6.9.2). Operands are small whole numbers, so that results are exact in any type
// and any order of combination.
#include <complex.h>
#include <stdbool.h>
#include "../check.h"

enum family { integer, fortran_integer, floating, logical, complex_number, bytes_only };
enum storage { as_signed, as_unsigned, as_float, as_complex, as_quad, as_quad_complex, as_bool };
enum { elements = 9, ops = 10, wide_bytes = 32 };

struct type_row {
    MPI_Datatype type;
    const char* name;
    enum family family;
    enum storage storage;
    int size;
    // Types of other languages may be missing in a library.
    int optional;
};

#define ROW(type, family, storage, size) {type, #type, family, storage, (int)(size), 0}
#define OPTIONAL(type, family, storage, size) {type, #type, family, storage, (int)(size), 1}

static const struct op_row {
    int families;
    const char* name;
} op_rows[ops] = {
    {1 << integer | 1 << fortran_integer | 1 << floating | 1 << complex_number, "SUM"},
    {1 << integer | 1 << fortran_integer | 1 << floating | 1 << complex_number, "PROD"},
    {1 << integer | 1 << fortran_integer | 1 << floating, "MIN"},
    {1 << integer | 1 << fortran_integer | 1 << floating, "MAX"},
    {1 << integer | 1 << logical, "LAND"},
    {1 << integer | 1 << logical, "LOR"},
    {1 << integer | 1 << logical, "LXOR"},
    {1 << integer | 1 << fortran_integer | 1 << bytes_only, "BAND"},
    {1 << integer | 1 << fortran_integer | 1 << bytes_only, "BOR"},
    {1 << integer | 1 << fortran_integer | 1 << bytes_only, "BXOR"},
};

static MPI_Op op_of(int op)
{
    const MPI_Op handles[ops] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_LAND,
                                 MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
    return handles[op];
}

static int type_rows(struct type_row* rows)
{
    const struct type_row table[] = {
        ROW(MPI_SIGNED_CHAR, integer, as_signed, 1),
        ROW(MPI_UNSIGNED_CHAR, integer, as_unsigned, 1),
        ROW(MPI_SHORT, integer, as_signed, 2),
        ROW(MPI_UNSIGNED_SHORT, integer, as_unsigned, 2),
        ROW(MPI_INT, integer, as_signed, 4),
        ROW(MPI_UNSIGNED, integer, as_unsigned, 4),
        ROW(MPI_LONG, integer, as_signed, sizeof(long)),
        ROW(MPI_UNSIGNED_LONG, integer, as_unsigned, sizeof(long)),
        ROW(MPI_LONG_LONG, integer, as_signed, 8),
        ROW(MPI_UNSIGNED_LONG_LONG, integer, as_unsigned, 8),
        ROW(MPI_INT8_T, integer, as_signed, 1),
        ROW(MPI_UINT8_T, integer, as_unsigned, 1),
        ROW(MPI_INT16_T, integer, as_signed, 2),
        ROW(MPI_UINT16_T, integer, as_unsigned, 2),
        ROW(MPI_INT32_T, integer, as_signed, 4),
        ROW(MPI_UINT32_T, integer, as_unsigned, 4),
        ROW(MPI_INT64_T, integer, as_signed, 8),
        ROW(MPI_UINT64_T, integer, as_unsigned, 8),
        ROW(MPI_AINT, fortran_integer, as_signed, sizeof(MPI_Aint)),
        ROW(MPI_OFFSET, fortran_integer, as_signed, sizeof(MPI_Offset)),
        ROW(MPI_COUNT, fortran_integer, as_signed, sizeof(MPI_Count)),
        ROW(MPI_FLOAT, floating, as_float, 4),
        ROW(MPI_DOUBLE, floating, as_float, 8),
        ROW(MPI_LONG_DOUBLE, floating, as_float, sizeof(long double)),
        ROW(MPI_C_BOOL, logical, as_bool, 1),
        ROW(MPI_BYTE, bytes_only, as_unsigned, 1),
        ROW(MPI_C_COMPLEX, complex_number, as_complex, 8),
        ROW(MPI_C_DOUBLE_COMPLEX, complex_number, as_complex, 16),
        ROW(MPI_C_LONG_DOUBLE_COMPLEX, complex_number, as_complex, 2 * sizeof(long double)),
        OPTIONAL(MPI_CXX_BOOL, logical, as_bool, 1),
        OPTIONAL(MPI_CXX_FLOAT_COMPLEX, complex_number, as_complex, 8),
        OPTIONAL(MPI_CXX_DOUBLE_COMPLEX, complex_number, as_complex, 16),
        OPTIONAL(MPI_CXX_LONG_DOUBLE_COMPLEX, complex_number, as_complex, 2 * sizeof(long double)),
        OPTIONAL(MPI_LOGICAL, logical, as_signed, 4),
        OPTIONAL(MPI_INTEGER, fortran_integer, as_signed, 4),
        OPTIONAL(MPI_INTEGER1, fortran_integer, as_signed, 1),
        OPTIONAL(MPI_INTEGER2, fortran_integer, as_signed, 2),
        OPTIONAL(MPI_INTEGER4, fortran_integer, as_signed, 4),
        OPTIONAL(MPI_INTEGER8, fortran_integer, as_signed, 8),
        OPTIONAL(MPI_REAL, floating, as_float, 4),
        OPTIONAL(MPI_DOUBLE_PRECISION, floating, as_float, 8),
        OPTIONAL(MPI_REAL4, floating, as_float, 4),
        OPTIONAL(MPI_REAL8, floating, as_float, 8),
        OPTIONAL(MPI_COMPLEX, complex_number, as_complex, 8),
        OPTIONAL(MPI_DOUBLE_COMPLEX, complex_number, as_complex, 16),
        OPTIONAL(MPI_COMPLEX8, complex_number, as_complex, 8),
        OPTIONAL(MPI_COMPLEX16, complex_number, as_complex, 16),
        OPTIONAL(MPI_LOGICAL1, logical, as_signed, 1),
        OPTIONAL(MPI_LOGICAL2, logical, as_signed, 2),
        OPTIONAL(MPI_LOGICAL4, logical, as_signed, 4),
        OPTIONAL(MPI_LOGICAL8, logical, as_signed, 8),
#if defined(__SIZEOF_INT128__)
        OPTIONAL(MPI_LOGICAL16, logical, as_signed, 16),
        OPTIONAL(MPI_INTEGER16, fortran_integer, as_signed, 16),
#endif
#if defined(__SIZEOF_FLOAT128__)
        OPTIONAL(MPI_REAL16, floating, as_quad, 16),
        OPTIONAL(MPI_COMPLEX32, complex_number, as_quad_complex, 32),
#endif
    };
    memcpy(rows, table, sizeof table);
    return (int)(sizeof table / sizeof table[0]);
}

#if defined(__SIZEOF_FLOAT128__)
static void store_quad(unsigned char* at, long long value)
{
    const __float128 quad = (__float128)value;
    memcpy(at, &quad, sizeof quad);
}

static long long load_quad(const unsigned char* at)
{
    __float128 quad;
    memcpy(&quad, at, sizeof quad);
    return quad == (__float128)(long long)quad ? (long long)quad : INT64_MIN;
}
#else
static void store_quad(unsigned char* at, long long value)
{
    (void)at, (void)value;
}
static long long load_quad(const unsigned char* at)
{
    (void)at;
    return 0;
}
#endif

static void store_whole(const struct type_row* row, unsigned char* at, long long value)
{
    if (row->size == 16) {
        const int64_t halves[2] = {value, value < 0 ? -1 : 0};
        memcpy(at, halves, sizeof halves);
        return;
    }
    const int8_t one = (int8_t)value;
    const int16_t two = (int16_t)value;
    const int32_t four = (int32_t)value;
    const int64_t eight = value;
    memcpy(at,
           row->size == 1   ? (const void*)&one
           : row->size == 2 ? (const void*)&two
           : row->size == 4 ? (const void*)&four
                            : (const void*)&eight,
           (size_t)row->size);
}

static void store_real(int size, unsigned char* at, long long value)
{
    const float single = (float)value;
    const double twice = (double)value;
    const long double wide = (long double)value;
    memcpy(at,
           size == 4   ? (const void*)&single
           : size == 8 ? (const void*)&twice
                       : (const void*)&wide,
           (size_t)size);
}

static void store(const struct type_row* row, unsigned char* at, long long real, long long other)
{
    const bool truth = real != 0;
    memset(at, 0, (size_t)row->size);
    switch (row->storage) {
        case as_float:
            store_real(row->size, at, real);
            break;
        case as_complex:
            store_real(row->size / 2, at, real);
            store_real(row->size / 2, at + row->size / 2, other);
            break;
        case as_quad_complex:
            store_quad(at + 16, other);  // and the first part
        // fall through
        case as_quad:
            store_quad(at, real);
            break;
        case as_bool:
            memcpy(at, &truth, sizeof truth);
            break;
        default:
            store_whole(row, at, real);
            break;
    }
}

// Padding inside long double is not compared: only the number is.
static long long load_real(int size, const unsigned char* at)
{
    float single = 0;
    double twice = 0;
    long double wide = 0;
    if (size == 4)
        memcpy(&single, at, sizeof single);
    if (size == 8)
        memcpy(&twice, at, sizeof twice);
    if (size == (int)sizeof wide)
        memcpy(&wide, at, sizeof wide);
    const long double value = size == 4 ? single : size == 8 ? twice : wide;
    return value == (long long)value ? (long long)value : INT64_MIN;
}

static long long load_whole(const struct type_row* row, const unsigned char* at)
{
    int8_t one;
    int16_t two;
    int32_t four;
    int64_t eight = 0;
    memcpy(&one, at, 1);
    if (row->size == 1)
        return row->storage == as_signed ? one : (long long)(uint8_t)one;
    memcpy(&two, at, 2);
    if (row->size == 2)
        return row->storage == as_signed ? two : (long long)(uint16_t)two;
    memcpy(&four, at, 4);
    if (row->size == 4)
        return row->storage == as_signed ? four : (long long)(uint32_t)four;
    memcpy(&eight, at, 8);
    if (row->size == 16) {
        int64_t upper;
        memcpy(&upper, at + 8, 8);
        return upper == (eight < 0 ? -1 : 0) ? eight : INT64_MIN;
    }
    return eight;
}

static long long load(const struct type_row* row, const unsigned char* at, int part)
{
    bool truth;
    switch (row->storage) {
        case as_float:
            return part == 0 ? load_real(row->size, at) : 0;
        case as_complex:
            return load_real(row->size / 2, at + part * row->size / 2);
        case as_quad:
            return part == 0 ? load_quad(at) : 0;
        case as_quad_complex:
            return load_quad(at + 16 * part);
        case as_bool:
            memcpy(&truth, at, 1);
            return part == 0 ? truth : 0;
        default:
            return part == 0 ? load_whole(row, at) : 0;
    }
}

// Operands: signed types meet negative numbers, products stay small, unsigned ones use the
// highest bit where no sum can leave the type.
static long long operand(const struct type_row* row, int op, int rank, int i)
{
    const int kind = (rank * 5 + i * 3) % 7;
    if (op == 1)
        return kind == 0 ? 2 : kind == 1 && row->storage != as_unsigned ? -1 : 1;
    if (op == 4)
        return kind != 3 || i % 3 == 0;
    if (op == 5 || op == 6)
        return kind == 2;
    if (row->storage == as_unsigned)
        return op == 0 ? kind : kind * 30 + i;
    return (row->family == logical) ? kind > 2 : kind * 3 - 7;
}

static long long other_part(const struct type_row* row, int op, int rank, int i)
{
    if (row->family != complex_number)
        return 0;
    return op == 1 ? (rank + i) % 2 : (rank * 2 - i);
}

static void combine(int op, long long* real, long long* other, long long a, long long b)
{
    const long long x = *real, y = *other;
    switch (op) {
        case 0:
            *real = x + a;
            *other = y + b;
            break;
        case 1:
            *real = x * a - y * b;
            *other = x * b + y * a;
            break;
        case 2:
            *real = a < x ? a : x;
            break;
        case 3:
            *real = a > x ? a : x;
            break;
        case 4:
            *real = x && a;
            break;
        case 5:
            *real = x || a;
            break;
        case 6:
            *real = !x != !a;
            break;
        case 7:
            *real = x & a;
            break;
        case 8:
            *real = x | a;
            break;
        default:
            *real = x ^ a;
            break;
    }
}

static void check_result(struct check* t, const struct type_row* row, int op,
                         const unsigned char* in)
{
    int wrong = 0;
    for (int i = 0; i < elements; ++i) {
        long long real = operand(row, op, 0, i), other = other_part(row, op, 0, i);
        for (int rank = 1; rank < t->size; ++rank) {
            combine(op, &real, &other, operand(row, op, rank, i), other_part(row, op, rank, i));
        }
        const unsigned char* at = in + i * row->size;
        long long got = load(row, at, 0);
        // Truth is any value but 0; a library writes 1, and .TRUE. of Fortran is no other here.
        if (row->family == logical && row->storage == as_signed)
            got = got != 0;
        wrong += got != real || load(row, at, 1) != other;
    }
    if (!CHECK_INT(t, wrong, 0)) {
        fprintf(stderr, "predefined_ops: the last line is about MPI_%s on %s\n", op_rows[op].name,
                row->name);
    }
}

static void one(struct check* t, const struct type_row* row, int op)
{
    unsigned char out[elements * wide_bytes], in[elements * wide_bytes + 1];
    const int root = op % t->size;
    for (int i = 0; i < elements; ++i) {
        store(row, out + i * row->size, operand(row, op, t->rank, i),
              other_part(row, op, t->rank, i));
    }
    memset(in, 0xEE, sizeof in);
    CHECK_CALL(t, MPI_Reduce(out, in, elements, row->type, op_of(op), root, MPI_COMM_WORLD));
    if (t->rank == root)
        check_result(t, row, op, in);
    memset(in, 0xEE, sizeof in);
    CHECK_CALL(t, MPI_Allreduce(out, in, elements, row->type, op_of(op), MPI_COMM_WORLD));
    check_result(t, row, op, in);
    CHECK_INT(t, in[elements * row->size], 0xEE);
}

static int test_main(void)
{
    struct check t = check_start("predefined_ops");
    struct type_row rows[64];
    const int count = type_rows(rows);
    for (int i = 0; i < count; ++i) {
        int size = 0;
        CHECK_CALL(&t, MPI_Type_size(rows[i].type, &size));
        if (rows[i].optional && size == MPI_UNDEFINED)
            continue;
        if (!CHECK_INT(&t, size, rows[i].size))
            continue;
        for (int op = 0; op < ops; ++op) {
            if (op_rows[op].families & 1 << rows[i].family)
                one(&t, &rows[i], op);
        }
    }
    return check_finish(&t);
}
