// SPDX-License-Identifier: Apache-2.0
// What ranks read of each other's spaces: that it is there, and stays until it has been read. Only
// messages straight between the two ranks are looked at, so what is proved holds, but a graph whose
// ranks learn it from a third one is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "study/graph_order.hpp"
#include "study/verifier.hpp"

namespace headway::study {

/// The two ends of a message.
struct Met {
    std::uint32_t from = 0;
    engine::Graph::NodeIndex leaving = 0;  ///< a node of `from`
    std::uint32_t to = 0;
    engine::Graph::NodeIndex arriving = 0;  ///< a node of `to`
};

bool has_peer_reads(std::span<const engine::Graph> graphs);

/// The extents that are read lie inside their spaces, and have the sizes of their targets.
std::optional<std::string> examine_peer_extents(std::span<const engine::Graph> graphs,
                                                const Contract& contract);

/// Each read comes after a publish of the peer. Each node of the peer that writes there comes
/// before that publish, or hears of the read first; and so does some node of the peer, whose spaces
/// are the caller's again when its run ends. Requires: all messages of the run.
std::optional<std::string> examine_peer_reads(std::span<const engine::Graph> graphs,
                                              std::span<const GraphOrder> orders,
                                              const Contract& contract,
                                              std::span<const Met> meetings);

}  // namespace headway::study
