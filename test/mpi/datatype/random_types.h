// SPDX-License-Identifier: Apache-2.0
// Datatypes drawn by seed and, beside each, what the standard says it is: its type map, one basic
// element after the other, and its bounds. All ranks that draw with the same seed get the same.
#ifndef HEADWAY_TEST_RANDOM_TYPES_H
#define HEADWAY_TEST_RANDOM_TYPES_H

#include "../check.h"

enum { parts_max = 6, dimensions_max = 3, entries_max = 300, span_max = 1 << 16 };

struct basic {
    MPI_Datatype type;
    int size, alignment;
};

struct entry {
    MPI_Aint offset;
    int basic;  // see basic_of
};

struct model {
    MPI_Datatype type;
    int is_basic;  // never freed
    struct entry* map;
    int count;
    int alignment;
    int is_marked;  // the bounds were set: by MPI_Type_create_resized, or by an array
    int is_padded;  // or those of a part reach beyond its last byte
    MPI_Aint lower_mark, upper_mark, padded_end;
};

enum kind {
    kind_dup,
    kind_contiguous,
    kind_vector,
    kind_hvector,
    kind_indexed,
    kind_hindexed,
    kind_indexed_block,
    kind_hindexed_block,
    kind_struct,
    kind_resized,
    kind_subarray,
    kind_darray,
    kinds
};

// The arguments of a constructor.
struct shape {
    enum kind kind;
    int is_large;  // the _c form
    int parts;     // blocks, or the count of a vector
    int lengths[parts_max];
    MPI_Aint places[parts_max];  // bytes, or extents of the old type where the constructor says so
    const struct model* old[parts_max];
    MPI_Aint stride, lower, extent;
    int dimensions, order, process;
    int sizes[dimensions_max], subsizes[dimensions_max], starts[dimensions_max];
    int distributions[dimensions_max], arguments[dimensions_max], grid[dimensions_max];
};

static inline struct basic basic_of(int index)
{
    const struct basic all[] = {
        {MPI_CHAR, 1, 1},
        {MPI_SHORT, (int)sizeof(short), (int)__alignof__(short)},
        {MPI_INT, (int)sizeof(int), (int)__alignof__(int)},
        {MPI_FLOAT, (int)sizeof(float), (int)__alignof__(float)},
        {MPI_DOUBLE, (int)sizeof(double), (int)__alignof__(double)},
        {MPI_C_DOUBLE_COMPLEX, 2 * (int)sizeof(double), (int)__alignof__(double)},
        {MPI_INT64_T, (int)sizeof(int64_t), (int)__alignof__(int64_t)},
    };
    return all[index];
}

enum { basics = 7 };

static inline MPI_Aint model_true_begin(const struct model* m)
{
    MPI_Aint begin = m->count > 0 ? m->map[0].offset : 0;
    for (int i = 1; i < m->count; ++i)
        begin = m->map[i].offset < begin ? m->map[i].offset : begin;
    return begin;
}

static inline MPI_Aint model_true_end(const struct model* m)
{
    MPI_Aint end = 0;
    for (int i = 0; i < m->count; ++i) {
        const MPI_Aint here = m->map[i].offset + basic_of(m->map[i].basic).size;
        end = i == 0 || here > end ? here : end;
    }
    return end;
}

static inline MPI_Aint model_lower(const struct model* m)
{
    return m->is_marked ? m->lower_mark : model_true_begin(m);
}

static inline MPI_Aint model_upper(const struct model* m)
{
    if (m->is_marked)
        return m->upper_mark;
    MPI_Aint end = model_true_end(m);
    if (m->is_padded && m->padded_end > end)
        end = m->padded_end;
    while ((end - model_lower(m)) % m->alignment != 0)
        ++end;
    return end;
}

static inline MPI_Aint model_extent(const struct model* m)
{
    return model_upper(m) - model_lower(m);
}

static inline int model_size(const struct model* m)
{
    int size = 0;
    for (int i = 0; i < m->count; ++i)
        size += basic_of(m->map[i].basic).size;
    return size;
}

static inline void model_add(struct model* m, MPI_Aint offset, int basic)
{
    // A power of two is full.
    if ((m->count & (m->count - 1)) == 0) {
        const size_t room = m->count == 0 ? 1 : 2 * (size_t)m->count;
        m->map = realloc(m->map, room * sizeof *m->map);
        if (m->map == NULL)
            abort();
    }
    m->map[m->count++] = (struct entry){offset, basic};
}

static inline void model_append(struct model* m, const struct model* part, MPI_Aint displacement)
{
    const MPI_Aint lower = part->lower_mark + displacement;
    const MPI_Aint upper = part->upper_mark + displacement;
    for (int i = 0; i < part->count; ++i)
        model_add(m, part->map[i].offset + displacement, part->map[i].basic);
    if (part->is_marked) {
        m->lower_mark = !m->is_marked || lower < m->lower_mark ? lower : m->lower_mark;
        m->upper_mark = !m->is_marked || upper > m->upper_mark ? upper : m->upper_mark;
        m->is_marked = 1;
    } else if (part->count > 0) {
        const MPI_Aint end = model_upper(part) + displacement;
        m->padded_end = !m->is_padded || end > m->padded_end ? end : m->padded_end;
        m->is_padded = 1;
    }
    if (part->alignment > m->alignment)
        m->alignment = part->alignment;
}

static inline void model_append_block(struct model* m, const struct model* part,
                                      MPI_Aint displacement, int length)
{
    const MPI_Aint extent = model_extent(part);
    for (int i = 0; i < length; ++i)
        model_append(m, part, displacement + i * extent);
}

// The place of the process of a darray in one dimension of the grid, which is in C's order always.
static inline int shape_coordinate(const struct shape* s, int dimension)
{
    int rest = s->process;
    for (int d = s->dimensions - 1; d > dimension; --d)
        rest /= s->grid[d];
    return rest % s->grid[dimension];
}

static inline int shape_holds(const struct shape* s, int dimension, int index)
{
    const int processes = s->grid[dimension], size = s->sizes[dimension];
    int argument = s->arguments[dimension];
    if (s->kind == kind_subarray)
        return index >= s->starts[dimension] &&
               index < s->starts[dimension] + s->subsizes[dimension];
    if (s->distributions[dimension] == MPI_DISTRIBUTE_NONE)
        return 1;
    if (s->distributions[dimension] == MPI_DISTRIBUTE_BLOCK) {
        if (argument == MPI_DISTRIBUTE_DFLT_DARG)
            argument = (size + processes - 1) / processes;
        return index / argument == shape_coordinate(s, dimension);
    }
    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        argument = 1;
    return index / argument % processes == shape_coordinate(s, dimension);
}

// Every element of the whole array, in the order of memory.
static inline void model_append_array(struct model* m, const struct shape* s)
{
    const MPI_Aint extent = model_extent(s->old[0]);
    int total = 1;
    for (int d = 0; d < s->dimensions; ++d)
        total *= s->sizes[d];
    for (int element = 0; element < total; ++element) {
        int rest = element, is_held = 1;
        for (int i = 0; i < s->dimensions; ++i) {
            const int d = s->order == MPI_ORDER_C ? s->dimensions - 1 - i : i;
            is_held = is_held && shape_holds(s, d, rest % s->sizes[d]);
            rest /= s->sizes[d];
        }
        if (is_held)
            model_append(m, s->old[0], element * extent);
    }
    m->is_marked = 1;
    m->lower_mark = 0;
    m->upper_mark = total * extent;
}

static inline struct model model_of(const struct shape* s)
{
    struct model m = {.type = MPI_DATATYPE_NULL, .alignment = 1};
    const struct model* const old = s->old[0];
    MPI_Aint unit = 1;
    switch (s->kind) {
        case kind_vector:
        case kind_indexed:
        case kind_indexed_block:
            unit = model_extent(old);
            break;
        default:
            break;
    }
    switch (s->kind) {
        case kind_dup:
            model_append(&m, old, 0);
            m.is_padded = old->is_padded;
            m.padded_end = old->padded_end;
            break;
        case kind_resized:
            model_append(&m, old, 0);
            m.is_marked = 1;
            m.lower_mark = s->lower;
            m.upper_mark = s->lower + s->extent;
            break;
        case kind_contiguous:
            model_append_block(&m, old, 0, s->parts);
            break;
        case kind_vector:
        case kind_hvector:
            for (int i = 0; i < s->parts; ++i)
                model_append_block(&m, old, i * s->stride * unit, s->lengths[0]);
            break;
        case kind_subarray:
        case kind_darray:
            model_append_array(&m, s);
            break;
        default:
            for (int i = 0; i < s->parts; ++i)
                model_append_block(&m, s->old[i], s->places[i] * unit, s->lengths[i]);
    }
    return m;
}

static inline int shape_processes(const struct shape* s)
{
    int processes = 1;
    for (int d = 0; d < s->dimensions; ++d)
        processes *= s->grid[d];
    return processes;
}

static inline int shape_create(const struct shape* s, MPI_Datatype* type)
{
    const MPI_Datatype old = s->old[0]->type;
    MPI_Datatype types[parts_max];
    int places[parts_max];
    for (int i = 0; i < parts_max; ++i) {
        types[i] = s->old[i] != NULL ? s->old[i]->type : MPI_DATATYPE_NULL;
        places[i] = (int)s->places[i];
    }
    switch (s->kind) {
        case kind_dup:
            return MPI_Type_dup(old, type);
        case kind_contiguous:
            return MPI_Type_contiguous(s->parts, old, type);
        case kind_vector:
            return MPI_Type_vector(s->parts, s->lengths[0], (int)s->stride, old, type);
        case kind_hvector:
            return MPI_Type_create_hvector(s->parts, s->lengths[0], s->stride, old, type);
        case kind_indexed:
            return MPI_Type_indexed(s->parts, s->lengths, places, old, type);
        case kind_hindexed:
            return MPI_Type_create_hindexed(s->parts, s->lengths, s->places, old, type);
        case kind_indexed_block:
            return MPI_Type_create_indexed_block(s->parts, s->lengths[0], places, old, type);
        case kind_hindexed_block:
            return MPI_Type_create_hindexed_block(s->parts, s->lengths[0], s->places, old, type);
        case kind_struct:
            return MPI_Type_create_struct(s->parts, s->lengths, s->places, types, type);
        case kind_resized:
            return MPI_Type_create_resized(old, s->lower, s->extent, type);
        case kind_subarray:
            return MPI_Type_create_subarray(s->dimensions, s->sizes, s->subsizes, s->starts,
                                            s->order, old, type);
        default:
            return MPI_Type_create_darray(shape_processes(s), s->process, s->dimensions, s->sizes,
                                          s->distributions, s->arguments, s->grid, s->order, old,
                                          type);
    }
}

static inline int shape_create_large(const struct shape* s, MPI_Datatype* type)
{
    const MPI_Datatype old = s->old[0]->type;
    MPI_Datatype types[parts_max];
    MPI_Count places[parts_max], lengths[parts_max];
    MPI_Count sizes[dimensions_max], subsizes[dimensions_max], starts[dimensions_max];
    for (int i = 0; i < parts_max; ++i) {
        types[i] = s->old[i] != NULL ? s->old[i]->type : MPI_DATATYPE_NULL;
        places[i] = s->places[i];
        lengths[i] = s->lengths[i];
    }
    for (int d = 0; d < dimensions_max; ++d) {
        sizes[d] = s->sizes[d];
        subsizes[d] = s->subsizes[d];
        starts[d] = s->starts[d];
    }
    switch (s->kind) {
        case kind_dup:
            return MPI_Type_dup(old, type);
        case kind_contiguous:
            return MPI_Type_contiguous_c(s->parts, old, type);
        case kind_vector:
            return MPI_Type_vector_c(s->parts, lengths[0], s->stride, old, type);
        case kind_hvector:
            return MPI_Type_create_hvector_c(s->parts, lengths[0], s->stride, old, type);
        case kind_indexed:
            return MPI_Type_indexed_c(s->parts, lengths, places, old, type);
        case kind_hindexed:
            return MPI_Type_create_hindexed_c(s->parts, lengths, places, old, type);
        case kind_indexed_block:
            return MPI_Type_create_indexed_block_c(s->parts, lengths[0], places, old, type);
        case kind_hindexed_block:
            return MPI_Type_create_hindexed_block_c(s->parts, lengths[0], places, old, type);
        case kind_struct:
            return MPI_Type_create_struct_c(s->parts, lengths, places, types, type);
        case kind_resized:
            return MPI_Type_create_resized_c(old, s->lower, s->extent, type);
        case kind_subarray:
            return MPI_Type_create_subarray_c(s->dimensions, sizes, subsizes, starts, s->order, old,
                                              type);
        default:
            return MPI_Type_create_darray_c(shape_processes(s), s->process, s->dimensions, sizes,
                                            s->distributions, s->arguments, s->grid, s->order, old,
                                            type);
    }
}

#endif
