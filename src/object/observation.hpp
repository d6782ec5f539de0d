// SPDX-License-Identifier: Apache-2.0
// What becomes of an observed job's records: a trace file, a table of counters.
#pragma once

#include "object/process.hpp"

namespace headway::object {

/// In the process that makes the node heap: whether the job is to be traced. Empties the trace
/// file; where it cannot be written, says so in a sentence and the job runs without a trace.
bool prepare_trace(const config::Knobs& knobs);

/// Every rank, in MPI_Finalize after the last communication of the program. Ends the recording;
/// rank 0 then writes the trace and prints the table.
void finish_observation(Rank& rank);

/// Writes what all ranks of the node recorded until now, if nobody has. Any thread of a process
/// that is about to end the job.
void save_trace_at_abort(Process& process) noexcept;

}  // namespace headway::object
