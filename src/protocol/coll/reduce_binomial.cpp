// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/reduce_tree.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph reduce_binomial(Place place, std::uint32_t root)
{
    constexpr std::uint16_t forward_slot = 1;
    Graph graph;
    // The root of the operation may have its contribution in place of the result.
    const Reduced reduced =
        add_reduce_tree(graph, place, {.space = place.in_place ? Space::receive : Space::send});
    graph.scratch_blocks = reduced.scratch_vectors;

    const Extent result{.space = Space::receive};
    if (place.rank == 0 && root != 0) {
        graph.order(reduced.combined, graph.send(root, forward_slot, reduced.vector));
    } else if (place.rank == 0 && reduced.vector.space != Space::receive) {
        graph.order(reduced.combined, graph.copy(reduced.vector, result));
    }
    if (place.rank == root && root != 0) {
        const auto arrived = graph.receive(0, forward_slot, result);
        // In place, the contribution must have left before the result overwrites it.
        for (Graph::NodeIndex node = 0; node < arrived; ++node) {
            graph.order(node, arrived);
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
