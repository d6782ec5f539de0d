// SPDX-License-Identifier: Apache-2.0
// The Poisson problem -(u_xx + u_yy + u_zz) = f on the box [0, Lx] x [0, Ly] x [0, Lz] whose
// solution is known, and bounds on its size that the error check rests on.
#ifndef JACOBI3D_PROBLEM_H
#define JACOBI3D_PROBLEM_H

#include "settings.h"

typedef struct {
    Solution solution;
    double length[axes];
    double spacing[axes];     // distance of grid points
    double weight[axes];      // 1 / spacing^2
    double diagonal;          // of the discrete operator: 2 * sum of weights
    double solution_max;      // bound on |u| in the box
    double source_max;        // bound on |f|
    double fourth_max[axes];  // bound on the fourth derivative of u along each axis
} Problem;

Problem make_problem(const Settings* settings);

double solution_at(const Problem* problem, const double point[axes]);
double source_at(const Problem* problem, const double point[axes]);

// Largest |u_computed - u_analytic| that discretisation, the residual left (maximum norm) and
// rounding allow; an error above it shows a defect in program or library, never bad luck.
double error_allowed(const Problem* problem, double residual_max);

#endif
