// SPDX-License-Identifier: Apache-2.0
#include "field.h"

#include <math.h>
#include <stdlib.h>

static void place_point(const Problem* problem, const Block* block, const int local[axes],
                        double point[axes])
{
    for (int axis = 0; axis < axes; ++axis) {
        point[axis] = (block->first[axis] + local[axis]) * problem->spacing[axis];
    }
}

// Whether a halo point lies on the boundary of the box, where u is given.
static bool is_on_boundary(const Block* block, const int local[axes])
{
    for (int axis = 0; axis < axes; ++axis) {
        if (local[axis] == 0 && block->neighbour[axis][0] == no_rank)
            return true;
        if (local[axis] == block->count[axis] + 1 && block->neighbour[axis][1] == no_rank) {
            return true;
        }
    }
    return false;
}

static bool is_owned(const Block* block, const int local[axes])
{
    for (int axis = 0; axis < axes; ++axis) {
        if (local[axis] < 1 || local[axis] > block->count[axis])
            return false;
    }
    return true;
}

static void fill_point(const Problem* problem, const Block* block, const int local[axes],
                       Field* field)
{
    const size_t index = field_index(field, local[0], local[1], local[2]);
    double point[axes];
    place_point(problem, block, local, point);
    field->now[index] = 0.0;
    field->source[index] = 0.0;
    if (is_owned(block, local)) {
        field->source[index] = source_at(problem, point);
    } else if (is_on_boundary(block, local)) {
        field->now[index] = solution_at(problem, point);
    }
    field->next[index] = field->now[index];
}

bool make_field(const Problem* problem, const Block* block, Field* field)
{
    field->stride[2] = 1;
    field->stride[1] = (size_t)block->count[2] + 2;
    field->stride[0] = field->stride[1] * ((size_t)block->count[1] + 2);
    field->count = field->stride[0] * ((size_t)block->count[0] + 2);
    field->now = malloc(field->count * sizeof(double));
    field->next = malloc(field->count * sizeof(double));
    field->source = malloc(field->count * sizeof(double));
    if (field->now == NULL || field->next == NULL || field->source == NULL) {
        free_field(field);
        return false;
    }
    int local[axes];
    for (local[0] = 0; local[0] <= block->count[0] + 1; ++local[0]) {
        for (local[1] = 0; local[1] <= block->count[1] + 1; ++local[1]) {
            for (local[2] = 0; local[2] <= block->count[2] + 1; ++local[2]) {
                fill_point(problem, block, local, field);
            }
        }
    }
    return true;
}

void free_field(Field* field)
{
    free(field->now);
    free(field->next);
    free(field->source);
    field->now = field->next = field->source = NULL;
}

double largest_error(const Problem* problem, const Block* block, const Field* field)
{
    double largest = 0.0;
    int local[axes];
    for (local[0] = 1; local[0] <= block->count[0]; ++local[0]) {
        for (local[1] = 1; local[1] <= block->count[1]; ++local[1]) {
            for (local[2] = 1; local[2] <= block->count[2]; ++local[2]) {
                double point[axes];
                place_point(problem, block, local, point);
                const size_t index = field_index(field, local[0], local[1], local[2]);
                const double error = fabs(field->now[index] - solution_at(problem, point));
                if (!(error <= largest))
                    largest = isnan(error) ? HUGE_VAL : error;
            }
        }
    }
    return largest;
}
