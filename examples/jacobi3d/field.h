// SPDX-License-Identifier: Apache-2.0
// The values on a rank's block with one layer of halo, z fastest.
#ifndef JACOBI3D_FIELD_H
#define JACOBI3D_FIELD_H

#include "block.h"
#include "problem.h"

typedef struct {
    size_t stride[axes];  // distance of neighbours along each axis, in values
    size_t count;         // values, halo included
    double* now;          // iterate k
    double* next;         // iterate k + 1
    double* source;       // f
} Field;

// Zero inside, the analytic solution on the boundary of the box. False without memory.
bool make_field(const Problem* problem, const Block* block, Field* field);
void free_field(Field* field);

static inline size_t field_index(const Field* field, int x, int y, int z)
{
    return (size_t)x * field->stride[0] + (size_t)y * field->stride[1] + (size_t)z;
}

// Iterate k + 1 becomes iterate k.
static inline void swap_iterates(Field* field)
{
    double* const old = field->now;
    field->now = field->next;
    field->next = old;
}

// Largest |u - analytic| over the points owned.
double largest_error(const Problem* problem, const Block* block, const Field* field);

#endif
