// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// Virtual ranks count from the root; the children of v are radix * v + 1 and on.
Graph bcast_pipelined(const Call& call)
{
    Graph graph;
    const Team team = Team::all(call.place, call.root);
    const std::uint64_t fan = std::max(call.tuning.radix, 1U);
    const std::uint64_t first_child = fan * team.index() + 1;
    const std::uint64_t child_end = std::min<std::uint64_t>(first_child + fan, team.size());
    graph.blocks = engine::Blocks::split;
    graph.block_count = std::max(call.tuning.segments, 1U);
    for (std::uint32_t piece = 0; piece < graph.block_count; ++piece) {
        const auto slot = static_cast<std::uint16_t>(piece);
        const Extent block{Space::receive, piece, 1};
        Graph::NodeIndex here = Graph::none;
        if (team.index() != 0) {
            const auto parent = static_cast<std::uint32_t>((team.index() - 1) / fan);
            here = graph.receive(team.rank_at(parent), slot, block);
        }
        for (std::uint64_t child = first_child; child < child_end; ++child) {
            const auto to = team.rank_at(static_cast<std::uint32_t>(child));
            graph.order(here, graph.send(to, slot, block));
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
