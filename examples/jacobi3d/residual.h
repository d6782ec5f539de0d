// SPDX-License-Identifier: Apache-2.0
// The residual r = f - A u, summed over all ranks so that the result is the same to the last bit
// for every rank count, split of the grid and MPI library.
//
// Floating-point sums depend on their order, integer sums do not. Each (r / scale)^2, which lies
// in [0, 2], is cut into two whole numbers, `high` in units of 2^-bits and `low` in units of
// 2^-2bits (what lies below is dropped, the same for every order), and the ranks add 64-bit
// integers. `scale` is a power of two at or above the largest |r|, known to all ranks beforehand:
// a bound at first, then the maximum that an earlier check found, since Jacobi sweeps never raise
// the maximum norm. With N points, bits <= 61 - log2(N) keeps the sums below 2^63.
#ifndef JACOBI3D_RESIDUAL_H
#define JACOBI3D_RESIDUAL_H

#include <stdint.h>

#include "clock.h"
#include "problem.h"

// What one rank adds up in a sweep.
typedef struct {
    double inverse_scale;  // power of two
    double unit;           // 2^bits
    int64_t high;
    int64_t low;
    double largest;  // |r|
} ResidualSum;

typedef struct {
    double norm;     // discrete L2 norm: sqrt(hx hy hz * sum of r^2)
    double largest;  // maximum norm
} Residual;

// The reduction, in flight from start to finish.
typedef struct {
    MPI_Comm comm;
    MPI_Request requests[2];
    int64_t mine[2];
    int64_t total[2];
    double mine_largest;
    double total_largest;
    double scale;        // of the sum in flight
    double next_scale;   // of the sums begun from now on
    double scale_floor;  // rounding keeps residuals from falling far below it
    double cell_volume;
    double unit;
} ResidualCheck;

ResidualCheck make_residual_check(MPI_Comm comm, const Problem* problem, const int grid[axes]);

// An empty sum for the sweep that comes.
ResidualSum begin_sum(const ResidualCheck* check);

// Starts MPI_Iallreduce of `sum`, which must be the last one begun. None may be in flight.
void start_residual(ResidualCheck* check, const ResidualSum* sum, MpiClock* clock);

// Waits for it; all ranks get the same bits.
Residual finish_residual(ResidualCheck* check, MpiClock* clock);

static inline void add_residual(ResidualSum* sum, double residual)
{
    const double size = residual < 0.0 ? -residual : residual;
    const double scaled = residual * sum->inverse_scale;
    double square = scaled * scaled;
    if (!(square <= 2.0))
        square = 2.0;
    const double shifted = square * sum->unit;
    const int64_t high = (int64_t)shifted;
    sum->high += high;
    sum->low += (int64_t)((shifted - (double)high) * sum->unit);
    if (!(size <= sum->largest))
        sum->largest = size;
}

#endif
