// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph allreduce_recursive_doubling(Place place)
{
    Graph graph;
    const Extent result{.space = Space::receive};
    const Extent input{.space = place.in_place ? Space::receive : Space::send};
    const Reduced reduced =
        add_doubling_reduction(graph, Team::all(place, 0), 0, {.vector = input}, result);
    if (std::has_single_bit(place.size)) {
        graph.meet(engine::Meets::halving, input);  // else some fold in others before
    }
    if (reduced.vector.space == Space::receive) {
        return graph;
    }
    const auto last = graph.copy(reduced.vector, result);
    for (Graph::NodeIndex node = 0; place.in_place && node < last; ++node) {
        graph.order(node, last);
    }
    graph.order(reduced.combined, last);
    return graph;
}

}  // namespace headway::protocol::coll
