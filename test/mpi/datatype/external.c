// SPDX-License-Identifier: Apache-2.0
// The representation external32: sizes, bytes, and the way back, also of elements with gaps.
#include "../check.h"

#include <complex.h>
#include <stddef.h>
#include <wchar.h>

static void size_row(struct check* t, MPI_Datatype type, int count, MPI_Aint want)
{
    MPI_Aint size = -1;
    MPI_Count wide = -1;
    CHECK_CALL(t, MPI_Pack_external_size("external32", count, type, &size));
    CHECK_INT(t, size, want);
    CHECK_CALL(t, MPI_Pack_external_size_c("external32", count, type, &wide));
    CHECK_INT(t, wide, want);
}

static void sizes(struct check* t)
{
    size_row(t, MPI_CHAR, 3, 3);
    size_row(t, MPI_SHORT, 3, 6);
    size_row(t, MPI_INT, 3, 12);
    size_row(t, MPI_LONG, 3, 12);
    size_row(t, MPI_UNSIGNED_LONG, 1, 4);
    size_row(t, MPI_LONG_LONG, 3, 24);
    size_row(t, MPI_AINT, 2, 16);
    size_row(t, MPI_WCHAR, 2, 4);
    size_row(t, MPI_FLOAT, 2, 8);
    size_row(t, MPI_DOUBLE, 2, 16);
    size_row(t, MPI_LONG_DOUBLE, 2, 32);
    size_row(t, MPI_C_BOOL, 2, 2);
    size_row(t, MPI_C_DOUBLE_COMPLEX, 1, 16);
    size_row(t, MPI_C_LONG_DOUBLE_COMPLEX, 1, 32);
    size_row(t, MPI_INT64_T, 0, 0);
    if (!t->lenient) {
        size_row(t, MPI_DOUBLE_INT, 1, 12);
        size_row(t, MPI_LONG_INT, 1, 8);
        size_row(t, MPI_2INT, 1, 8);
    }
}

static void bytes_row(struct check* t, MPI_Datatype type, const void* native, size_t native_bytes,
                      const unsigned char* want, int count)
{
    unsigned char external[64], back[64];
    MPI_Aint position = 0;
    memset(external, 0xEE, sizeof external);
    memset(back, 0, sizeof back);
    CHECK_CALL(t, MPI_Pack_external("external32", native, 1, type, external, 64, &position));
    CHECK_INT(t, position, count);
    CHECK_INT(t, memcmp(external, want, (size_t)count), 0);
    CHECK_INT(t, external[count], 0xEE);
    position = 0;
    CHECK_CALL(t, MPI_Unpack_external("external32", external, 64, &position, back, 1, type));
    CHECK_INT(t, position, count);
    CHECK_INT(t, memcmp(back, native, native_bytes), 0);
}
#define BYTES(t, type, value, ...)                                                        \
    bytes_row((t), (type), &(value), sizeof(value), (const unsigned char[]){__VA_ARGS__}, \
              (int)sizeof((const unsigned char[]){__VA_ARGS__}))

static void bytes(struct check* t)
{
    const short s = -2;
    const int i = 0x01020304;
    const long l = -3;
    const unsigned long ul = 0xFFFFFFFEu;
    const long long ll = 0x0102030405060708;
    const float f = -1.5f;
    const double d = 1.0;
    const wchar_t w = L'A';
    const float complex c = 1.0f + 2.0f * I;
    BYTES(t, MPI_SHORT, s, 0xFF, 0xFE);
    BYTES(t, MPI_INT, i, 1, 2, 3, 4);
    BYTES(t, MPI_LONG_LONG, ll, 1, 2, 3, 4, 5, 6, 7, 8);
    BYTES(t, MPI_FLOAT, f, 0xBF, 0xC0, 0, 0);
    BYTES(t, MPI_DOUBLE, d, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0);
    BYTES(t, MPI_C_FLOAT_COMPLEX, c, 0x3F, 0x80, 0, 0, 0x40, 0, 0, 0);
    BYTES(t, MPI_LONG, l, 0xFF, 0xFF, 0xFF, 0xFD);
    BYTES(t, MPI_UNSIGNED_LONG, ul, 0xFF, 0xFF, 0xFF, 0xFE);
    if (!t->lenient)
        BYTES(t, MPI_WCHAR, w, 0, 'A');
}

static void long_doubles(struct check* t)
{
    const long double values[4] = {1.5L, -0.1L, 0.0L, 3.0e4000L};
    static const unsigned char first[16] = {0x3F, 0xFF, 0x80};
    unsigned char external[64];
    long double back[4] = {9, 9, 9, 9};
    MPI_Aint position = 0;
    CHECK_CALL(
        t, MPI_Pack_external("external32", values, 4, MPI_LONG_DOUBLE, external, 64, &position));
    CHECK_INT(t, position, 64);
    CHECK_INT(t, memcmp(external, first, 16), 0);
    position = 0;
    CHECK_CALL(
        t, MPI_Unpack_external("external32", external, 64, &position, back, 4, MPI_LONG_DOUBLE));
    for (int i = 0; i < 4; ++i)
        CHECK(t, back[i] == values[i]);
}

struct record {
    char letter;
    double number;
    long counts[3];
};

static void records(struct check* t)
{
    enum { records = 5000 };
    const int lengths[3] = {1, 1, 3};
    const MPI_Aint places[3] = {offsetof(struct record, letter), offsetof(struct record, number),
                                offsetof(struct record, counts)};
    const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_LONG};
    struct record* out = check_memory(records * sizeof *out);
    struct record* in = check_memory(records * sizeof *in);
    MPI_Datatype loose, type;
    MPI_Aint size = 0, position = 0;
    CHECK_CALL(t, MPI_Type_create_struct(3, lengths, places, types, &loose));
    CHECK_CALL(t, MPI_Type_create_resized(loose, 0, sizeof(struct record), &type));
    CHECK_CALL(t, MPI_Type_commit(&type));
    memset(in, 0x55, records * sizeof *in);
    for (int i = 0; i < records; ++i) {
        out[i].letter = (char)(i % 100);
        out[i].number = i / 3.0;
        for (int k = 0; k < 3; ++k)
            out[i].counts[k] = -i * k;
    }
    CHECK_CALL(t, MPI_Pack_external_size("external32", records, type, &size));
    CHECK_INT(t, size, records * (1 + 8 + 3 * 4));
    unsigned char* external = check_memory((size_t)size + 8);
    position = 4;
    CHECK_CALL(t,
               MPI_Pack_external("external32", out, records, type, external, size + 8, &position));
    CHECK_INT(t, position, size + 4);
    position = 4;
    CHECK_CALL(t,
               MPI_Unpack_external("external32", external, size + 8, &position, in, records, type));
    int wrong = 0;
    for (int i = 0; i < records; ++i) {
        wrong += in[i].letter != out[i].letter || in[i].number != out[i].number ||
                 memcmp(in[i].counts, out[i].counts, sizeof in[i].counts) != 0;
        const char gap = ((const char*)&in[i])[1];
        wrong += gap != 0x55;
    }
    CHECK_INT(t, wrong, 0);
    MPI_Type_free(&type);
    MPI_Type_free(&loose);
    free(external);
    free(in);
    free(out);
}

static void refused(struct check* t)
{
    int value = 0;
    char room[3];
    MPI_Aint position = 0, size = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    REFUSED(t, MPI_Pack_external("native", &value, 1, MPI_INT, room, 3, &position), MPI_ERR_ARG);
    REFUSED(t, MPI_Pack_external_size("external64", 1, MPI_INT, &size), MPI_ERR_ARG);
    REFUSED(t, MPI_Pack_external("external32", &value, 1, MPI_INT, room, 3, &position),
            MPI_ERR_TRUNCATE);
    REFUSED(t, MPI_Unpack_external("external32", room, 3, &position, &value, 1, MPI_INT),
            MPI_ERR_TRUNCATE);
    CHECK_INT(t, position, 0);
}

static int test_main(void)
{
    struct check t = check_start("external");
    sizes(&t);
    bytes(&t);
    long_doubles(&t);
    if (!t.lenient) {
        records(&t);
        refused(&t);
    }
    return check_finish(&t);
}
