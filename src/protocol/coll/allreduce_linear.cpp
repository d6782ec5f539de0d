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
    graph.meet(engine::Meets::combining, input);
    const bool lands = place.rank == 0 && !place.in_place;
    const Reduced reduced =
        add_tree_reduction(graph, team, up, {.vector = input}, lands ? &result : nullptr);
    if (place.rank != 0) {
        // In place, the result overwrites the contribution, which has left with the first node.
        add_tree_spread(graph, team, down, result, place.in_place ? 0 : Graph::none);
        return graph;
    }
    add_tree_spread(graph, team, down, reduced.vector, reduced.combined);
    if (reduced.vector.space == Space::receive) {
        return graph;  // it landed, or there is nobody else
    }
    const auto arrived = graph.copy(reduced.vector, result);
    graph.order(reduced.combined, arrived);
    return graph;
}

}  // namespace headway::protocol::coll
