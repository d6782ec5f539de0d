// SPDX-License-Identifier: Apache-2.0
// Compile with -ffp-contract=off: a multiply-add fused in one loop and not in another would make
// the last bit depend on the box.
#include "sweep.h"

// f plus the neighbours' part of A u, so that u_next = gathered / diagonal.
static inline double gather(const Problem* problem, const Field* field, const double* here,
                            double source)
{
    const size_t x = field->stride[0];
    const size_t y = field->stride[1];
    return source + problem->weight[0] * (here[x] + *(here - x)) +
           problem->weight[1] * (here[y] + *(here - y)) +
           problem->weight[2] * (here[1] + *(here - 1));
}

static void sweep_row(const Problem* problem, const Field* field, size_t first, size_t count)
{
    const double* const now = field->now + first;
    const double* const source = field->source + first;
    double* restrict const next = field->next + first;
    const double inverse = 1.0 / problem->diagonal;
    for (size_t z = 0; z < count; ++z) {
        next[z] = gather(problem, field, now + z, source[z]) * inverse;
    }
}

static void sweep_row_checked(const Problem* problem, const Field* field, size_t first,
                              size_t count, ResidualSum* sum)
{
    const double* const now = field->now + first;
    const double* const source = field->source + first;
    double* restrict const next = field->next + first;
    const double inverse = 1.0 / problem->diagonal;
    ResidualSum row = *sum;
    for (size_t z = 0; z < count; ++z) {
        const double gathered = gather(problem, field, now + z, source[z]);
        next[z] = gathered * inverse;
        add_residual(&row, gathered - problem->diagonal * now[z]);
    }
    *sum = row;
}

void sweep_box(const Problem* problem, Field* field, const Box* box, ResidualSum* sum)
{
    if (box->low[2] >= box->high[2])
        return;
    const size_t count = (size_t)(box->high[2] - box->low[2]);
    for (int x = box->low[0]; x < box->high[0]; ++x) {
        for (int y = box->low[1]; y < box->high[1]; ++y) {
            const size_t first = field_index(field, x, y, box->low[2]);
            if (sum == NULL) {
                sweep_row(problem, field, first, count);
            } else {
                sweep_row_checked(problem, field, first, count, sum);
            }
        }
    }
}
