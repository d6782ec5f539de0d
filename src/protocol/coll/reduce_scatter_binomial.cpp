// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// The result comes after everything else of a rank, because in place it overwrites the input.
Graph reduce_scatter_binomial(Place place)
{
    constexpr std::uint16_t scatter_slot = 1;
    Graph graph;
    const Extent result{.space = Space::receive};
    const Reduced reduced = add_tree_reduction(graph, Team::all(place, 0), {},
                                               {.vector = {Space::send, 0, place.size}});
    const auto block = [&](std::uint32_t rank) {
        return Extent{reduced.vector.space, reduced.vector.first_block + rank, 1};
    };
    if (place.rank != 0) {
        const auto sent = static_cast<Graph::NodeIndex>(graph.nodes().size() - 1);
        graph.order(sent, graph.receive(0, scatter_slot, result));
        return graph;
    }
    for (std::uint32_t rank = 1; rank < place.size; ++rank) {
        graph.order(reduced.combined, graph.send(rank, scatter_slot, block(rank)));
    }
    if (place.size > 1 || !place.in_place) {
        graph.order(reduced.combined, graph.copy(block(0), result));
    }
    return graph;
}

}  // namespace headway::protocol::coll
