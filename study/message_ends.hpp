// SPDX-License-Identifier: Apache-2.0
// Which ends of messages meet. Those of one name follow each other at both ranks, so the n-th that
// leaves meets the n-th that arrives, whenever they run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "study/graph_order.hpp"

namespace headway::study {

/// Examines calls one after the other; keeps its memory.
class MessageEnds {
  public:
    using NodeIndex = engine::Graph::NodeIndex;

    /// A node of a rank.
    struct Place {
        std::uint32_t rank;
        NodeIndex node;
    };
    static constexpr std::uint32_t nobody = UINT32_MAX;
    static constexpr std::size_t ranks_max = std::size_t{1} << 17;

    /// Starts with no rank.
    void clear();
    /// Adds the next rank. Returns two of its nodes that have one name but no order, if there are.
    /// Requires: at most ranks_max ranks, no cycle, peers that exist.
    std::optional<std::pair<NodeIndex, NodeIndex>> add(const engine::Graph& graph,
                                                       const GraphOrder& order);
    /// Finds the other end of each.
    void match();

    /// Its rank is nobody where there is none. Requires: matched.
    Place other_end(Place place) const noexcept { return others_[number(place)]; }
    /// Numbers the nodes of all ranks.
    std::size_t number(Place place) const noexcept { return first_[place.rank] + place.node; }
    std::size_t node_count() const noexcept { return others_.size(); }

  private:
    /// From the highest bit on: it arrives (1 bit), peer (17), slot (16), place in order (30).
    using Name = std::uint64_t;
    static constexpr int place_bits = 30;

    std::vector<Name> names_;                ///< rank by rank, sorted
    std::vector<NodeIndex> nodes_;           ///< of these
    std::vector<std::size_t> names_begin_;   ///< by rank
    std::vector<std::size_t> arrive_begin_;  ///< by rank: those that leave are before
    std::vector<std::size_t> first_;         ///< by rank: the number of its first node
    std::vector<Place> others_;              ///< by number
};

}  // namespace headway::study
