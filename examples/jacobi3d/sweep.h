// SPDX-License-Identifier: Apache-2.0
#ifndef JACOBI3D_SWEEP_H
#define JACOBI3D_SWEEP_H

#include "field.h"
#include "residual.h"

// One Jacobi step on the points of `box`: `next` from `now`. Adds the residual of `now` to `sum`
// unless that is NULL. Every point is computed by the same operations in the same order whatever
// box it lies in, so iterates do not depend on the split of the grid.
void sweep_box(const Problem* problem, Field* field, const Box* box, ResidualSum* sum);

#endif
