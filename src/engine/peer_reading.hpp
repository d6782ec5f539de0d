// SPDX-License-Identifier: Apache-2.0
//
// Nodes of a graph that read what a peer has published (docs/design/029).
#pragma once

#include <cstddef>
#include <span>

#include "engine/combination.hpp"
#include "engine/graph_instance.hpp"
#include "transport/peer_memory.hpp"

namespace headway::engine {

/// How a peer's bytes are combined with those at the target, as they come; not, for a copy.
Combination combination_of(const GraphInstance& run, const GraphNode& node);

/// Reads `bytes.size()` bytes at `source` into `bytes` at once if they are few and this process
/// reaches both. False: they wait for a job.
bool read_at_once(Driver& driver, const GraphInstance& run, const GraphNode& node,
                  std::span<std::byte> bytes, transport::Place source);

}  // namespace headway::engine
