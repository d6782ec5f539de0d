// SPDX-License-Identifier: Apache-2.0
// Layouts that the tests of communication use: a datatype of ints and, beside it, the places of
// its ints. Ranks may be threads, so nothing here is static.
#ifndef HEADWAY_TEST_LAYOUTS_H
#define HEADWAY_TEST_LAYOUTS_H

#include "../check.h"

enum { layout_kinds = 7, layout_ints_max = 64, layout_filler = 0x5A5A5A5A };

struct layout {
    MPI_Datatype type;
    int ints;                     // in an element
    int places[layout_ints_max];  // in ints, counted from the element
    int extent;                   // in ints
    int lowest;                   // place of the first int in memory
};

static inline void layout_add(struct layout* l, int place)
{
    l->places[l->ints++] = place;
    if (place < l->lowest)
        l->lowest = place;
}

// Runs, rows, rows of planes, a struct with a hole, downwards, irregular, spread out.
static inline struct layout layout_make(struct check* t, int kind)
{
    struct layout l = {MPI_DATATYPE_NULL, 0, {0}, 0, 0};
    MPI_Datatype inner;
    const int lengths[] = {2, 3, 1}, steps[] = {9, 0, 5};
    const int parts[] = {1, 2};
    const MPI_Aint places[] = {0, 12};
    const MPI_Datatype types[] = {MPI_INT, MPI_FLOAT};
    switch (kind) {
        case 0:
            CHECK_CALL(t, MPI_Type_contiguous(6, MPI_INT, &l.type));
            for (int i = 0; i < 6; ++i)
                layout_add(&l, i);
            l.extent = 6;
            break;
        case 1:
            CHECK_CALL(t, MPI_Type_vector(4, 1, 3, MPI_INT, &l.type));
            for (int i = 0; i < 4; ++i)
                layout_add(&l, i * 3);
            l.extent = 10;
            break;
        case 2:
            CHECK_CALL(t, MPI_Type_vector(3, 2, 4, MPI_INT, &inner));
            CHECK_CALL(t, MPI_Type_create_hvector(4, 1, 64, inner, &l.type));
            CHECK_CALL(t, MPI_Type_free(&inner));
            for (int i = 0; i < 24; ++i)
                layout_add(&l, i / 6 * 16 + i % 6 / 2 * 4 + i % 2);
            l.extent = 58;
            break;
        case 3:
            CHECK_CALL(t, MPI_Type_create_struct(2, parts, places, types, &l.type));
            layout_add(&l, 0);
            layout_add(&l, 3);
            layout_add(&l, 4);
            l.extent = 5;
            break;
        case 4:
            CHECK_CALL(t, MPI_Type_create_hvector(5, 1, -8, MPI_INT, &inner));
            CHECK_CALL(t, MPI_Type_create_resized(inner, 0, 40, &l.type));
            CHECK_CALL(t, MPI_Type_free(&inner));
            for (int i = 0; i < 5; ++i)
                layout_add(&l, i * -2);
            l.extent = 10;
            break;
        case 5:
            CHECK_CALL(t, MPI_Type_indexed(3, lengths, steps, MPI_INT, &l.type));
            for (int i = 0; i < 3; ++i) {
                for (int j = 0; j < lengths[i]; ++j)
                    layout_add(&l, steps[i] + j);
            }
            l.extent = 11;
            break;
        default:
            CHECK_CALL(t, MPI_Type_create_resized(MPI_INT, 0, 28, &l.type));
            layout_add(&l, 0);
            l.extent = 7;
            break;
    }
    CHECK_CALL(t, MPI_Type_commit(&l.type));
    return l;
}

// Memory of `count` elements.
struct area {
    int* memory;
    int* address;  // of the first element
    int ints;
};

static inline struct area layout_area(const struct layout* l, int count)
{
    struct area a;
    a.ints = (count + 2) * l->extent - l->lowest;
    a.memory = check_memory(sizeof(int) * (size_t)a.ints);
    a.address = a.memory - l->lowest;
    for (int i = 0; i < a.ints; ++i)
        a.memory[i] = layout_filler;
    return a;
}

static inline int layout_value(int seed, int i)
{
    return seed * 1000003 + i * 7;
}

// The message of `seed`, whatever layout holds it.
static inline void layout_fill(const struct layout* l, const struct area* a, int count, int seed)
{
    for (int i = 0; i < count * l->ints; ++i)
        a->address[i / l->ints * l->extent + l->places[i % l->ints]] = layout_value(seed, i);
}

// The first `ints` of the message are there, and nothing else was touched.
static inline int layout_wrong(const struct layout* l, const struct area* a, int ints, int seed)
{
    int wrong = 0, touched = 0;
    for (int i = 0; i < ints; ++i) {
        const int* at = &a->address[i / l->ints * l->extent + l->places[i % l->ints]];
        wrong += *at != layout_value(seed, i);
    }
    for (int i = 0; i < a->ints; ++i)
        touched += a->memory[i] != layout_filler;
    return wrong + (touched != ints);
}

#endif
