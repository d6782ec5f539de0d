// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// Combining a rank's own vector with its children in ascending order gives rank order:
// acc = acc (op) child. A reduce node computes target = source (op) target, so each combination
// leaves its result in the child's scratch vector, which becomes the new accumulator.
Graph reduce_binomial(Place place, std::uint32_t root)
{
    Graph graph;
    const auto scratch = [](std::uint32_t vector) { return Extent{Space::scratch, vector, 1}; };
    const std::uint32_t rank = place.rank;
    // The root of the operation may have its contribution in place of the result.
    Extent accumulator{.space = place.in_place ? Space::receive : Space::send};
    Graph::NodeIndex combined = Graph::none;

    const std::uint32_t top =
        rank == 0 ? power_of_two_below(place.size) * 2 : rank & (~rank + 1);
    std::uint32_t vectors = 0;
    for (std::uint32_t step = 1; step < top && rank + step < place.size; step *= 2) {
        const Extent child = scratch(vectors++);
        const auto received = graph.receive(rank + step, 0, child);
        const auto reduced = graph.reduce(accumulator, child);
        graph.order(received, reduced);
        graph.order(combined, reduced);
        combined = reduced;
        accumulator = child;
    }
    graph.scratch_blocks = vectors;

    const Extent result{.space = Space::receive};
    if (rank != 0) {
        graph.order(combined, graph.send(rank & (rank - 1), 0, accumulator));
    }
    else if (root != 0) {
        graph.order(combined, graph.send(root, 1, accumulator));
    }
    else if (accumulator.space != Space::receive) {
        graph.order(combined, graph.copy(accumulator, result));
    }
    if (rank == root && root != 0) {
        const auto arrived = graph.receive(0, 1, result);
        // In place, the contribution must have left before the result overwrites it.
        for (Graph::NodeIndex node = 0; node < arrived; ++node) {
            graph.order(node, arrived);
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
