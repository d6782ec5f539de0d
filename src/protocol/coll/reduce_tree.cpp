// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/reduce_tree.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// Combining a rank's own vector with its children in ascending order gives rank order:
// acc = acc (op) child. A reduce node computes target = source (op) target, so each combination
// leaves its result in the child's scratch vector, which becomes the new accumulator.
Reduced add_reduce_tree(Graph& graph, Place place, Extent input, std::uint32_t first_rank)
{
    Reduced reduced{.vector = input};
    const std::uint32_t blocks = input.block_count;
    const std::uint32_t rank = place.rank;
    const std::uint32_t top = rank == 0 ? power_of_two_below(place.size) * 2 : rank & (~rank + 1);
    for (std::uint32_t step = 1; step < top && rank + step < place.size; step *= 2) {
        const Extent child{Space::scratch, blocks * reduced.scratch_vectors++, blocks};
        const auto received = graph.receive(first_rank + rank + step, 0, child);
        const auto combined = graph.reduce(reduced.vector, child);
        graph.order(received, combined);
        graph.order(reduced.combined, combined);
        reduced.combined = combined;
        reduced.vector = child;
    }
    if (rank != 0) {
        graph.order(reduced.combined,
                    graph.send(first_rank + (rank & (rank - 1)), 0, reduced.vector));
    }
    return reduced;
}

}  // namespace headway::protocol::coll
