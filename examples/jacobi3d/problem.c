// SPDX-License-Identifier: Apache-2.0
#include "problem.h"

#include <float.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

// u = sin(pi x/Lx) sin(pi y/Ly) sin(pi z/Lz), zero on the boundary.
static void bound_sine(Problem* problem)
{
    problem->solution_max = 1.0;
    problem->source_max = 0.0;
    for (int axis = 0; axis < axes; ++axis) {
        const double frequency = pi / problem->length[axis];
        problem->source_max += frequency * frequency;
        problem->fourth_max[axis] = pow(frequency, 4);
    }
}

// u = exp(x/Lx + y/Ly + z/Lz), from 1 to e^3 on the boundary.
static void bound_exponential(Problem* problem)
{
    problem->solution_max = exp(3.0);
    problem->source_max = 0.0;
    for (int axis = 0; axis < axes; ++axis) {
        const double rate = 1.0 / problem->length[axis];
        problem->source_max += rate * rate * problem->solution_max;
        problem->fourth_max[axis] = pow(rate, 4) * problem->solution_max;
    }
}

// u = x (Lx - x) y (Ly - y) z (Lz - z): second differences are exact, so that nothing but the
// iteration error is left.
static void bound_polynomial(Problem* problem)
{
    double quarter[axes];
    for (int axis = 0; axis < axes; ++axis) {
        quarter[axis] = problem->length[axis] * problem->length[axis] / 4.0;
        problem->fourth_max[axis] = 0.0;
    }
    problem->solution_max = quarter[0] * quarter[1] * quarter[2];
    problem->source_max =
        2.0 * (quarter[1] * quarter[2] + quarter[0] * quarter[2] + quarter[0] * quarter[1]);
}

Problem make_problem(const Settings* settings)
{
    Problem problem = {.solution = settings->solution};
    for (int axis = 0; axis < axes; ++axis) {
        problem.length[axis] = settings->length[axis];
        problem.spacing[axis] = settings->length[axis] / (settings->grid[axis] + 1);
        problem.weight[axis] = 1.0 / (problem.spacing[axis] * problem.spacing[axis]);
        problem.diagonal += 2.0 * problem.weight[axis];
    }
    switch (settings->solution) {
        case solution_sine:
            bound_sine(&problem);
            break;
        case solution_exponential:
            bound_exponential(&problem);
            break;
        case solution_polynomial:
            bound_polynomial(&problem);
            break;
    }
    return problem;
}

static double bump(const Problem* problem, const double point[axes], int axis)
{
    return point[axis] * (problem->length[axis] - point[axis]);
}

double solution_at(const Problem* problem, const double point[axes])
{
    const double* const length = problem->length;
    switch (problem->solution) {
        case solution_sine:
            return sin(pi * point[0] / length[0]) * sin(pi * point[1] / length[1]) *
                   sin(pi * point[2] / length[2]);
        case solution_exponential:
            return exp(point[0] / length[0] + point[1] / length[1] + point[2] / length[2]);
        case solution_polynomial:
            return bump(problem, point, 0) * bump(problem, point, 1) * bump(problem, point, 2);
    }
    return 0.0;
}

double source_at(const Problem* problem, const double point[axes])
{
    double factor = 0.0;
    switch (problem->solution) {
        case solution_sine:
            for (int axis = 0; axis < axes; ++axis) {
                factor += (pi / problem->length[axis]) * (pi / problem->length[axis]);
            }
            return factor * solution_at(problem, point);
        case solution_exponential:
            for (int axis = 0; axis < axes; ++axis) {
                factor -= 1.0 / (problem->length[axis] * problem->length[axis]);
            }
            return factor * solution_at(problem, point);
        case solution_polynomial:
            return 2.0 * (bump(problem, point, 1) * bump(problem, point, 2) +
                          bump(problem, point, 0) * bump(problem, point, 2) +
                          bump(problem, point, 0) * bump(problem, point, 1));
    }
    return 0.0;
}

// The discrete operator A is monotone, and w = x (Lx - x) / 2 has A w = 1 with w <= Lx^2 / 8; so
// |A e| <= d everywhere means |e| <= d L^2 / 8 for the shortest edge L. A applied to the error is
// truncation (second differences: h^2 / 12 times the fourth derivative) plus the residual, which
// itself is known up to the rounding of its sum of eight terms.
double error_allowed(const Problem* problem, double residual_max)
{
    double shortest = problem->length[0];
    double defect = residual_max;
    for (int axis = 0; axis < axes; ++axis) {
        const double spacing = problem->spacing[axis];
        defect += spacing * spacing / 12.0 * problem->fourth_max[axis];
        if (problem->length[axis] < shortest)
            shortest = problem->length[axis];
    }
    const double size = 2.0 * problem->diagonal * problem->solution_max + problem->source_max;
    defect += 16.0 * DBL_EPSILON * size;
    return defect * shortest * shortest / 8.0;
}
