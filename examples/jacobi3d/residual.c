// SPDX-License-Identifier: Apache-2.0
#include "residual.h"

#include <float.h>
#include <math.h>

// The least power of two above `value`.
static double power_above(double value)
{
    int exponent;
    frexp(value, &exponent);
    return ldexp(1.0, exponent);
}

ResidualCheck make_residual_check(MPI_Comm comm, const Problem* problem, const int grid[axes])
{
    ResidualCheck check = {.comm = comm, .cell_volume = 1.0};
    double points = 1.0;
    for (int axis = 0; axis < axes; ++axis) {
        points *= grid[axis];
        check.cell_volume *= problem->spacing[axis];
    }
    int points_log2;
    frexp(points, &points_log2);
    const int bits = 61 - points_log2;
    check.unit = ldexp(1.0, bits < 50 ? bits : 50);
    const double first_bound =
        2.0 * problem->diagonal * problem->solution_max + problem->source_max;
    check.scale_floor = 64.0 * DBL_EPSILON * first_bound;
    check.next_scale = power_above(first_bound);
    check.requests[0] = check.requests[1] = MPI_REQUEST_NULL;
    return check;
}

ResidualSum begin_sum(const ResidualCheck* check)
{
    const ResidualSum sum = {.inverse_scale = 1.0 / check->next_scale, .unit = check->unit};
    return sum;
}

void start_residual(ResidualCheck* check, const ResidualSum* sum, MpiClock* clock)
{
    check->mine[0] = sum->high;
    check->mine[1] = sum->low;
    check->mine_largest = sum->largest;
    check->scale = 1.0 / sum->inverse_scale;
    enter_mpi(clock);
    MPI_Iallreduce(check->mine, check->total, 2, MPI_INT64_T, MPI_SUM, check->comm,
                   &check->requests[0]);
    MPI_Iallreduce(&check->mine_largest, &check->total_largest, 1, MPI_DOUBLE, MPI_MAX, check->comm,
                   &check->requests[1]);
    leave_mpi(clock);
}

Residual finish_residual(ResidualCheck* check, MpiClock* clock)
{
    enter_mpi(clock);
    MPI_Waitall(2, check->requests, MPI_STATUSES_IGNORE);
    leave_mpi(clock);
    const double squares =
        (double)check->total[0] / check->unit + (double)check->total[1] / check->unit / check->unit;
    const Residual residual = {
        .norm = check->scale * sqrt(squares * check->cell_volume),
        .largest = check->total_largest,
    };
    check->next_scale = power_above(fmax(check->total_largest, check->scale_floor));
    return residual;
}
