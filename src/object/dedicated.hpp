// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.hpp"
#include "config/knobs.hpp"
#include "engine/node.hpp"

namespace headway::object {

/// Puts the cpus of HEADWAY_PROGRESS=dedicated[:list] into `cpus`: those of the list, or else the
/// first one that the calling thread may run on; none under another executor or in a simulation.
/// Keeps the calling thread, and so those that it starts, off them, and warns where other threads
/// of the process may run there. Failure: one sentence with the cure. Thread rule: the thread in
/// MPI_Init that opens the process.
base::Outcome reserve_cpus(const config::Knobs& knobs, std::vector<unsigned>& cpus);

/// Starts the thread there, if the process is to have one and has it not. It sleeps and wakes
/// others as the calling thread does (platform::own_scheduler). Failure: the system gives none.
/// Thread rule: a rank's thread, the first time that the rank communicates.
base::Outcome start_on_dedicated_cpus(engine::Node& node);

}  // namespace headway::object
