// SPDX-License-Identifier: Apache-2.0
#ifndef JACOBI3D_SOLVER_H
#define JACOBI3D_SOLVER_H

#include "halo.h"
#include "residual.h"

typedef struct {
    long iterations;          // sweeps done
    long residual_iteration;  // iterate that `residual` belongs to
    Residual first;
    Residual residual;
    bool converged;  // the tolerance was met (never with tolerance 0)
    double elapsed_s;
    double mpi_s;  // of elapsed_s, inside MPI calls
} Outcome;

// Sweeps until the residual falls below the tolerance or max_iterations is reached. Collective;
// all ranks stop at the same sweep. A sweep overlaps its interior with the halo exchange; the
// reduction of a residual overlaps with the sweep that follows it.
Outcome solve(const Settings* settings, const Problem* problem, const Block* block, MPI_Comm comm,
              Field* field, Halo* halo, bool show_progress);

#endif
