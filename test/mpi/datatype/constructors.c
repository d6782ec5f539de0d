// SPDX-License-Identifier: Apache-2.0
// Every constructor in both forms: size, bounds, the order of the packed bytes, and what envelope
// and contents say, from which the type is made once more.
#include <stddef.h>
#include "../check.h"

enum { memory_bytes = 512, middle = 128 };

struct wanted {
    int size;
    int lb;
    int extent;
    int true_lb;
    int true_extent;
    int places[64];  // of the packed bytes, counted from the element
};

// Bytes of `ints` consecutive ints at `from`, behind those that are there.
static void add_ints(struct wanted* w, int from, int ints)
{
    for (int i = 0; i < ints * 4; ++i)
        w->places[w->size++] = from + i;
}

static void look(struct check* t, MPI_Datatype type, const struct wanted* w)
{
    int size = -1;
    MPI_Count size_c = -1, lb_c = -1, extent_c = -1, true_lb_c = -1, true_extent_c = -1;
    MPI_Aint lb = -1, extent = -1, true_lb = -1, true_extent = -1;
    CHECK_CALL(t, MPI_Type_size(type, &size));
    CHECK_CALL(t, MPI_Type_size_c(type, &size_c));
    CHECK_CALL(t, MPI_Type_get_extent(type, &lb, &extent));
    CHECK_CALL(t, MPI_Type_get_extent_c(type, &lb_c, &extent_c));
    CHECK_CALL(t, MPI_Type_get_true_extent(type, &true_lb, &true_extent));
    CHECK_CALL(t, MPI_Type_get_true_extent_c(type, &true_lb_c, &true_extent_c));
    CHECK_INT(t, size, w->size);
    CHECK_INT(t, size_c, w->size);
    CHECK_INT(t, lb, w->lb);
    CHECK_INT(t, extent, w->extent);
    CHECK_INT(t, true_lb, w->true_lb);
    CHECK_INT(t, true_extent, w->true_extent);
    CHECK(t, lb_c == lb && extent_c == extent);
    CHECK(t, true_lb_c == true_lb && true_extent_c == true_extent);
}

// Packs an element, and unpacks it into other memory.
static void copy(struct check* t, MPI_Datatype type, const struct wanted* w)
{
    unsigned char memory[memory_bytes], target[memory_bytes], expected[memory_bytes], packed[128];
    int position = 3, size = -1, wrong = 0;
    check_fill(memory, sizeof memory, 7);
    memset(target, 0x5A, sizeof target);
    memset(expected, 0x5A, sizeof expected);
    memset(packed, 0, sizeof packed);
    CHECK_CALL(t, MPI_Pack_size(1, type, MPI_COMM_SELF, &size));
    CHECK(t, size >= w->size);
    CHECK_CALL(t, MPI_Pack(memory + middle, 1, type, packed, (int)sizeof packed, &position,
                           MPI_COMM_SELF));
    CHECK_INT(t, position, 3 + w->size);
    for (int i = 0; i < w->size; ++i) {
        wrong += packed[3 + i] != memory[middle + w->places[i]];
        expected[middle + w->places[i]] = packed[3 + i];
    }
    CHECK_INT(t, wrong, 0);
    position = 3;
    CHECK_CALL(t, MPI_Unpack(packed, (int)sizeof packed, &position, target + middle, 1, type,
                             MPI_COMM_SELF));
    CHECK_INT(t, position, 3 + w->size);
    CHECK_INT(t, memcmp(target, expected, sizeof target), 0);
}

// What a type was made of, in both forms of the calls.
struct contents {
    MPI_Count numbers[4];  // of integers, addresses, large counts, types
    int combiner;
    int integers[32];
    MPI_Aint addresses[16];
    MPI_Count counts[32];
    MPI_Datatype types[8];
};

static void read_contents(struct check* t, MPI_Datatype type, struct contents* c)
{
    memset(c, 0, sizeof *c);
    CHECK_CALL(t, MPI_Type_get_envelope_c(type, &c->numbers[0], &c->numbers[1], &c->numbers[2],
                                          &c->numbers[3], &c->combiner));
    CHECK_CALL(t, MPI_Type_get_contents_c(type, 32, 16, 32, 8, c->integers, c->addresses, c->counts,
                                          c->types));
}

// The large form stores all amounts as counts; the narrow one in the places of old.
static void see(struct check* t, MPI_Datatype type, int combiner, const int* amounts, int length,
                const int* displacements, int places)
{
    struct contents c;
    read_contents(t, type, &c);
    CHECK_INT(t, c.combiner, combiner);
    if (c.numbers[2] == 0) {
        CHECK_INT(t, c.numbers[0], length);
        CHECK_INT(t, c.numbers[1], places);
        for (int i = 0; i < length; ++i)
            CHECK_INT(t, c.integers[i], amounts[i]);
        for (int i = 0; i < places; ++i)
            CHECK_INT(t, c.addresses[i], displacements[i]);
    } else {
        CHECK_INT(t, c.numbers[2], length + places);
        for (int i = 0; i < length; ++i)
            CHECK_INT(t, c.counts[i], amounts[i]);
        for (int i = 0; i < places; ++i)
            CHECK_INT(t, c.counts[length + i], displacements[i]);
        REFUSED(t, MPI_Type_get_contents(type, 32, 16, 8, c.integers, c.addresses, c.types),
                MPI_ERR_TYPE, MPI_ERR_ARG);
    }
    for (MPI_Count i = 0; i < c.numbers[3]; ++i)
        CHECK(t, c.types[i] == MPI_INT || c.types[i] == MPI_CHAR);
}

static void finish(struct check* t, MPI_Datatype* type, const struct wanted* w)
{
    look(t, *type, w);
    CHECK_CALL(t, MPI_Type_commit(type));
    copy(t, *type, w);
    CHECK_CALL(t, MPI_Type_free(type));
    CHECK(t, *type == MPI_DATATYPE_NULL);
}

static void vectors(struct check* t)
{
    for (int is_large = 0; is_large < 2; ++is_large) {
        MPI_Datatype type;
        struct wanted line = {.extent = 20, .true_extent = 20};
        add_ints(&line, 0, 5);
        CHECK_CALL(t, is_large ? MPI_Type_contiguous_c(5, MPI_INT, &type)
                               : MPI_Type_contiguous(5, MPI_INT, &type));
        see(t, type, MPI_COMBINER_CONTIGUOUS, (int[]){5}, 1, NULL, 0);
        finish(t, &type, &line);

        struct wanted rows = {.extent = 40, .true_extent = 40};
        for (int i = 0; i < 3; ++i)
            add_ints(&rows, i * 16, 2);
        CHECK_CALL(t, is_large ? MPI_Type_vector_c(3, 2, 4, MPI_INT, &type)
                               : MPI_Type_vector(3, 2, 4, MPI_INT, &type));
        see(t, type, MPI_COMBINER_VECTOR, (int[]){3, 2, 4}, 3, NULL, 0);
        finish(t, &type, &rows);

        struct wanted back = {.lb = -40, .extent = 44, .true_lb = -40, .true_extent = 44};
        for (int i = 0; i < 3; ++i)
            add_ints(&back, i * -20, 1);
        CHECK_CALL(t, is_large ? MPI_Type_create_hvector_c(3, 1, -20, MPI_INT, &type)
                               : MPI_Type_create_hvector(3, 1, -20, MPI_INT, &type));
        see(t, type, MPI_COMBINER_HVECTOR, (int[]){3, 1}, 2, (int[]){-20}, 1);
        finish(t, &type, &back);
    }
}

static void indexed(struct check* t)
{
    const int lengths[] = {2, 0, 1}, steps[] = {3, 50, -2}, bytes[] = {12, 200, -8};
    const MPI_Count lengths_c[] = {2, 0, 1}, steps_c[] = {3, 50, -2}, bytes_c[] = {12, 200, -8};
    const MPI_Aint bytes_a[] = {12, 200, -8};
    for (int is_large = 0; is_large < 2; ++is_large) {
        MPI_Datatype type;
        struct wanted w = {.lb = -8, .extent = 28, .true_lb = -8, .true_extent = 28};
        add_ints(&w, 12, 2);
        add_ints(&w, -8, 1);
        CHECK_CALL(t, is_large ? MPI_Type_indexed_c(3, lengths_c, steps_c, MPI_INT, &type)
                               : MPI_Type_indexed(3, lengths, steps, MPI_INT, &type));
        see(t, type, MPI_COMBINER_INDEXED, (int[]){3, 2, 0, 1, 3, 50, -2}, 7, NULL, 0);
        finish(t, &type, &w);
        CHECK_CALL(t, is_large ? MPI_Type_create_hindexed_c(3, lengths_c, bytes_c, MPI_INT, &type)
                               : MPI_Type_create_hindexed(3, lengths, bytes_a, MPI_INT, &type));
        see(t, type, MPI_COMBINER_HINDEXED, (int[]){3, 2, 0, 1}, 4, bytes, 3);
        finish(t, &type, &w);

        struct wanted even = {.lb = -8, .extent = 216, .true_lb = -8, .true_extent = 216};
        add_ints(&even, 12, 2);
        add_ints(&even, 200, 2);
        add_ints(&even, -8, 2);
        CHECK_CALL(t, is_large ? MPI_Type_create_indexed_block_c(3, 2, steps_c, MPI_INT, &type)
                               : MPI_Type_create_indexed_block(3, 2, steps, MPI_INT, &type));
        see(t, type, MPI_COMBINER_INDEXED_BLOCK, (int[]){3, 2, 3, 50, -2}, 5, NULL, 0);
        finish(t, &type, &even);
        CHECK_CALL(t, is_large ? MPI_Type_create_hindexed_block_c(3, 2, bytes_c, MPI_INT, &type)
                               : MPI_Type_create_hindexed_block(3, 2, bytes_a, MPI_INT, &type));
        see(t, type, MPI_COMBINER_HINDEXED_BLOCK, (int[]){3, 2}, 2, bytes, 3);
        finish(t, &type, &even);
    }
}

static void structs(struct check* t)
{
    struct mixed {
        char c;
        int i[2];
        char d;
    };
    const int lengths[] = {1, 2, 1};
    const MPI_Count lengths_c[] = {1, 2, 1};
    const MPI_Aint places[] = {offsetof(struct mixed, c), offsetof(struct mixed, i),
                               offsetof(struct mixed, d)};
    const MPI_Count places_c[] = {places[0], places[1], places[2]};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_CHAR};
    for (int is_large = 0; is_large < 2; ++is_large) {
        MPI_Datatype type, wide;
        struct wanted w = {.extent = sizeof(struct mixed), .true_extent = 13};
        w.places[w.size++] = 0;
        add_ints(&w, 4, 2);
        w.places[w.size++] = 12;
        CHECK_CALL(t, is_large ? MPI_Type_create_struct_c(3, lengths_c, places_c, types, &type)
                               : MPI_Type_create_struct(3, lengths, places, types, &type));
        see(t, type, MPI_COMBINER_STRUCT, (int[]){3, 1, 2, 1}, 4, (int[]){0, 4, 12}, 3);
        CHECK_CALL(t, is_large ? MPI_Type_create_resized_c(MPI_INT, -4, 24, &wide)
                               : MPI_Type_create_resized(MPI_INT, -4, 24, &wide));
        see(t, wide, MPI_COMBINER_RESIZED, NULL, 0, (int[]){-4, 24}, 2);
        finish(t, &type, &w);

        // Elements of the resized type lie as far apart as it says.
        struct wanted three = {.lb = -4, .extent = 72, .true_extent = 52};
        for (int i = 0; i < 3; ++i)
            add_ints(&three, i * 24, 1);
        CHECK_CALL(t, MPI_Type_contiguous(3, wide, &type));
        CHECK_CALL(t, MPI_Type_free(&wide));
        finish(t, &type, &three);
    }
}

// A duplicate is committed as its original is; contents give types of one's own back.
static void duplicates(struct check* t)
{
    MPI_Datatype pair, copy_of, inner[1];
    int integers[2];
    MPI_Aint addresses[1];
    CHECK_CALL(t, MPI_Type_contiguous(2, MPI_INT, &pair));
    CHECK_CALL(t, MPI_Type_commit(&pair));
    CHECK_CALL(t, MPI_Type_dup(pair, &copy_of));
    CHECK_CALL(t, MPI_Type_free(&pair));
    struct contents c;
    read_contents(t, copy_of, &c);
    CHECK_INT(t, c.combiner, MPI_COMBINER_DUP);
    CHECK_INT(t, c.numbers[3], 1);
    struct wanted w = {.extent = 8, .true_extent = 8};
    add_ints(&w, 0, 2);
    look(t, c.types[0], &w);
    copy(t, copy_of, &w);
    CHECK_CALL(t, MPI_Type_get_contents(c.types[0], 2, 1, 1, integers, addresses, inner));
    CHECK_INT(t, integers[0], 2);
    CHECK(t, inner[0] == MPI_INT);
    CHECK_CALL(t, MPI_Type_free(&c.types[0]));
    CHECK_CALL(t, MPI_Type_free(&copy_of));
}

// What lies one behind the other is one block, whatever it was made of: a type within types.
static void nested(struct check* t)
{
    MPI_Datatype row, plane, type;
    struct wanted w = {.extent = 124, .true_extent = 124};
    for (int y = 0; y < 2; ++y) {
        for (int x = 0; x < 3; ++x)
            add_ints(&w, y * 80 + x * 20, 1);
    }
    CHECK_CALL(t, MPI_Type_vector(3, 1, 5, MPI_INT, &row));
    CHECK_CALL(t, MPI_Type_create_hvector(2, 1, 80, row, &plane));
    CHECK_CALL(t, MPI_Type_dup(plane, &type));
    CHECK_CALL(t, MPI_Type_free(&row));
    CHECK_CALL(t, MPI_Type_free(&plane));
    finish(t, &type, &w);

    struct wanted nothing = {.size = 0};
    CHECK_CALL(t, MPI_Type_contiguous(0, MPI_INT, &type));
    finish(t, &type, &nothing);
}

static int test_main(void)
{
    struct check t = check_start("datatype/constructors");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    vectors(&t);
    indexed(&t);
    structs(&t);
    duplicates(&t);
    nested(&t);
    return check_finish(&t);
}
