// SPDX-License-Identifier: Apache-2.0
// Runs the graphs of all ranks in virtual time: every message, copy and reduction is an event of
// its own. Nothing is drawn by chance and nothing is left out, so that a time is that of the model.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.hpp"
#include "engine/graph.hpp"
#include "protocol/coll/topology.hpp"
#include "study/machine.hpp"

namespace headway::study {

struct Simulated {
    Picoseconds time = 0;  ///< from the start, common to all ranks, to the end of the last one
    std::uint64_t messages = 0;
};

struct Simulation {
    /// The graph of a rank; asked for when it begins, dropped when it has ended.
    std::function<engine::Graph(std::uint32_t rank)> build;
    const protocol::coll::Topology* topology = nullptr;  ///< of all ranks
    std::uint64_t bytes = 0;                             ///< of a block, or of a vector that is cut
    /// Called now and then with the number of messages that have arrived.
    std::function<void(std::uint64_t)> report_progress;
};

/// Failure: the graphs come to a standstill. (The verifier says why.)
base::Result<Simulated> simulate(const Simulation& simulation, const Machine& machine);

}  // namespace headway::study
