// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph allreduce_two_level(const Call& call)
{
    constexpr TreeWay up{.slot = 0};
    constexpr TreeWay down{.slot = 1};
    constexpr std::uint16_t first_lead_slot = 2;
    constexpr Extent result{.space = Space::receive};
    Graph graph;
    const std::uint32_t rank = call.place.rank;
    const Team node = Team::of_node(*call.topology, rank, 0);
    Reduced reduced{.vector = {.space = call.place.in_place ? Space::receive : Space::send}};
    reduced = add_tree_reduction(graph, node, up, reduced);
    if (node.index() != 0) {
        // In place, the result overwrites the contribution: that has left with the last node.
        const auto sent = static_cast<Graph::NodeIndex>(graph.nodes().size() - 1);
        add_tree_spread(graph, node, down, result, call.place.in_place ? sent : Graph::none);
        return graph;
    }
    reduced = add_doubling_reduction(graph, Team::of_leads(*call.topology, rank, 0),
                                     first_lead_slot, reduced, result);
    const auto nodes_before = static_cast<Graph::NodeIndex>(graph.nodes().size());
    add_tree_spread(graph, node, down, reduced.vector, reduced.combined);
    if (reduced.vector.space != Space::receive) {
        const auto last = graph.copy(reduced.vector, result);
        graph.order(reduced.combined, last);
        for (Graph::NodeIndex i = 0; call.place.in_place && i < nodes_before; ++i) {
            graph.order(i, last);
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
