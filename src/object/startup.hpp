// SPDX-License-Identifier: Apache-2.0
// How ranks come into being and leave.
#pragma once

#include <optional>

#include <headway/interface.h>

#include "object/error_handler.hpp"
#include "object/info.hpp"
#include "object/session.hpp"

#include "object/rank.hpp"

namespace headway::object {

/// MPI_Init of the calling thread's rank: meets the launcher if this is the process's first rank,
/// joins the node, and makes the thread the rank's main thread. On failure prints one sentence and
/// ends the job. Requires: the calling thread's rank is not running and was not finalized.
void initialize(int thread_level);

/// Ranks of the job while the calling thread's rank has not called MPI_Init, as far as that can be
/// told; `rank`: null where there is none yet.
std::optional<int> rank_count_before_init(RankAccess* rank);

/// MPI_Finalize of a rank: waits for all ranks, then takes the objects down. A rank with sessions
/// goes on communicating.
void finalize(Rank& rank);

/// MPI_Session_init of the calling thread's rank: lets it communicate where it does not yet, and
/// makes a session, without a handle. `thread_level`: what is asked for. Blocks for the other ranks
/// of the job where it is the first of MPI_Init and this in its process. Any thread at any time.
/// On failure prints one sentence and ends the job.
Session& open_session(int thread_level, Info hints, ErrorHandler* error_handler);

/// MPI_Session_finalize: its buffered messages leave, and with the last session of a rank that is
/// not between MPI_Init and MPI_Finalize the rank ends its communication, once what it has sent is
/// on its way. False: the node heap is exhausted.
[[nodiscard]] bool close_session(Rank& rank, Session& session);

/// Runs `body` in `ranks` threads, each a rank of one job inside this process, and returns the
/// number of bodies that did not return 0. Each body calls MPI_Init and MPI_Finalize itself. A
/// simulation (knob `sim`) ends the program where all threads wait for each other.
/// Requires: this process is no rank. A body that never calls MPI_Init is allowed, if all do so.
int run_team(int ranks, int (*body)(void*), void* argument);

/// Makes this process the host of `ranks` ranks of the launcher's job, from number `first` on, of
/// `all` (0: every process hosts as many), which other threads become by enter_rank; the number of
/// the first. On failure prints one sentence and ends the job. Requires: this process is no rank
/// and hosts none.
int host_ranks(int first, int ranks, int all);

/// Threads of hosted ranks, and those that the library starts for them, wait by these functions.
/// After host_ranks, before the first enter_rank. What other processes of the node ring; null:
/// there are none.
const headway_outside* schedule_ranks(const headway_scheduling* scheduling);

/// The calling thread belongs to rank `index` of the hosted ones.
void enter_rank(int index);

/// What the program of the calling thread's rank, a hosted one, is started with.
void name_program(int count, const char* const* words);

/// Where a hosted rank stood with MPI when its program ended.
enum class RankEnd { outside, inside, finalized, missed };

/// The program of the calling thread's rank has ended: says where the rank stands. `missed`: it
/// never called MPI_Init, but another rank did. Once a rank.
RankEnd leave_rank();

/// Ends the job with `code`. Any thread of a host.
void end_hosted_job(int code);

/// After the end of all hosted ranks: leaves the launcher in good order.
void close_ranks();

}  // namespace headway::object
