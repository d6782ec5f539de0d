// SPDX-License-Identifier: Apache-2.0
// How ranks come into being and leave.
#pragma once

#include "object/rank.hpp"

namespace headway::object {

/// MPI_Init of the calling thread's rank: meets the launcher if this is the process's first rank,
/// joins the node, and makes the thread the rank's main thread. On failure prints one sentence and
/// ends the job. Requires: the calling thread's rank is not running and was not finalized.
void initialize(int thread_level);

/// MPI_Finalize of a rank: waits for all ranks, then takes the objects down.
void finalize(Rank& rank);

/// Runs `body` in `ranks` threads, each a rank of one job inside this process, and returns the
/// number of bodies that did not return 0. Each body calls MPI_Init and MPI_Finalize itself. A
/// simulation (knob `sim`) ends the program where all threads wait for each other.
/// Requires: this process is no rank. A body that never calls MPI_Init is allowed, if all do so.
int run_team(int ranks, int (*body)(void*), void* argument);

}  // namespace headway::object
