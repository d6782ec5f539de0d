// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// The tree's top is rank 0 whatever the root: only then indices are ranks and keep their order.
Graph reduce_knomial(const Call& call)
{
    constexpr std::uint16_t forward_slot = 1;
    Graph graph;
    const Place place = call.place;
    // The root of the operation may have its contribution in place of the result.
    const Extent input{.space = place.in_place ? Space::receive : Space::send};
    const Extent result{.space = Space::receive};
    if (call.tuning.radix == 2) {
        graph.meet(engine::Meets::collecting, input, call.root);
    }
    const bool lands = place.rank == 0 && call.root == 0 && !place.in_place;
    const Reduced reduced =
        add_tree_reduction(graph, Team::all(place, 0), {.radix = call.tuning.radix},
                           {.vector = input}, lands ? &result : nullptr);
    if (place.rank == 0 && call.root != 0) {
        graph.order(reduced.combined, graph.send(call.root, forward_slot, reduced.vector));
    } else if (place.rank == 0 && reduced.vector.space != Space::receive) {
        graph.order(reduced.combined, graph.copy(reduced.vector, result));
    }
    if (place.rank == call.root && call.root != 0) {
        const auto arrived = graph.receive(0, forward_slot, result);
        // In place, the contribution must have left before the result overwrites it.
        for (Graph::NodeIndex node = 0; place.in_place && node < arrived; ++node) {
            graph.order(node, arrived);
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
