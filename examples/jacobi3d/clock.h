// SPDX-License-Identifier: Apache-2.0
// Time spent inside MPI calls: enter_mpi(&clock); MPI_...; leave_mpi(&clock).
#ifndef JACOBI3D_CLOCK_H
#define JACOBI3D_CLOCK_H

#include <mpi.h>

typedef struct {
    double inside_s;   // sum so far
    double entered_s;  // when the call in progress began
} MpiClock;

static inline void enter_mpi(MpiClock* clock)
{
    clock->entered_s = MPI_Wtime();
}

static inline void leave_mpi(MpiClock* clock)
{
    clock->inside_s += MPI_Wtime() - clock->entered_s;
}

#endif
