// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph allreduce_linear(Place place)
{
    constexpr Extent result{.space = Space::receive};
    const TreeWay up{.radix = place.size, .slot = 0};
    const TreeWay down{.radix = place.size, .slot = 1};
    const Team team = Team::all(place, 0);
    Graph graph;
    const Extent input{.space = place.in_place ? Space::receive : Space::send};
    const Reduced reduced = add_tree_reduction(graph, team, up, {.vector = input});
    if (place.rank != 0) {
        // In place, the result overwrites the contribution, which has left with the first node.
        add_tree_spread(graph, team, down, result, place.in_place ? 0 : Graph::none);
        return graph;
    }
    if (reduced.vector.space == Space::receive) {
        return graph;  // alone, and in place
    }
    const auto arrived = graph.copy(reduced.vector, result);
    graph.order(reduced.combined, arrived);
    for (Graph::NodeIndex node = 0; place.in_place && node < arrived; ++node) {
        graph.order(node, arrived);
    }
    add_tree_spread(graph, team, down, reduced.vector, reduced.combined);
    return graph;
}

}  // namespace headway::protocol::coll
