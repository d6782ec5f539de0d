// SPDX-License-Identifier: Apache-2.0
#ifndef JACOBI3D_REPORT_H
#define JACOBI3D_REPORT_H

#include "solver.h"

typedef struct {
    double elapsed_s;  // slowest rank
    double mpi_min_s;
    double mpi_mean_s;
    double mpi_max_s;
} Times;

// Everything a run has found; complete on rank 0, `passed` on all ranks.
typedef struct {
    Settings settings;
    Block block;
    Outcome outcome;
    double error;          // largest |u - analytic|
    double error_allowed;  // what discretisation, residual and rounding explain
    bool passed;           // or there was nothing to check (Settings.part)
    Times times;
} Report;

// Collective: compares with the analytic solution and brings the ranks' times to rank 0. False
// without memory.
bool make_report(const Settings* settings, const Problem* problem, const Block* block,
                 const Field* field, const Outcome* outcome, MPI_Comm comm, Report* report);

void print_table(const Report* report);
void print_json(const Report* report);

#endif
