// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph bcast_two_level(const Call& call)
{
    constexpr TreeWay among_leads{.slot = 0};
    constexpr TreeWay in_node{.slot = 1};
    constexpr Extent buffer{.space = Space::receive};
    Graph graph;
    const std::uint32_t rank = call.place.rank;
    const Team node = Team::of_node(*call.topology, rank, call.root);
    Graph::NodeIndex here = Graph::none;
    if (node.index() == 0) {
        here = add_tree_spread(graph, Team::of_leads(*call.topology, rank, call.root), among_leads,
                               buffer, Graph::none);
    }
    add_tree_spread(graph, node, in_node, buffer, here);
    return graph;
}

}  // namespace headway::protocol::coll
