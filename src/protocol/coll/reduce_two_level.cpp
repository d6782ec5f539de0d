// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Space;

Graph reduce_two_level(const Call& call)
{
    constexpr TreeWay in_node{.slot = 0};
    constexpr TreeWay among_leads{.slot = 1};
    Graph graph;
    const std::uint32_t rank = call.place.rank;
    const Team node = Team::of_node(*call.topology, rank, call.root);
    Reduced reduced{.vector = {.space = call.place.in_place ? Space::receive : Space::send}};
    reduced = add_tree_reduction(graph, node, in_node, reduced);
    if (node.index() != 0) {
        return graph;
    }
    reduced = add_tree_reduction(graph, Team::of_leads(*call.topology, rank, call.root),
                                 among_leads, reduced);
    if (rank == call.root && reduced.vector.space != Space::receive) {
        graph.order(reduced.combined, graph.copy(reduced.vector, {.space = Space::receive}));
    }
    return graph;
}

}  // namespace headway::protocol::coll
