// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// Round k sends on the block that k + 1 ranks have combined; the last round brings the own one.
// What arrives is combined where it arrived: the input is never written. In place the result
// overwrites the input, so it comes after everything else.
Graph reduce_scatter_ring(Place place)
{
    Graph graph;
    const std::uint32_t size = place.size;
    const std::uint32_t rank = place.rank;
    const Extent result{.space = Space::receive};
    if (size == 1) {
        if (!place.in_place) {
            graph.copy({.space = Space::send}, result);
        }
        return graph;
    }
    graph.scratch_blocks = size;
    Graph::NodeIndex combined = Graph::none;
    for (std::uint32_t round = 0; round + 1 < size; ++round) {
        const auto slot = static_cast<std::uint16_t>(round);
        const std::uint32_t out = (rank + size - round - 1) % size;
        const std::uint32_t in = (rank + 2 * size - round - 2) % size;
        graph.order(combined, graph.send((rank + 1) % size, slot,
                                         {round == 0 ? Space::send : Space::scratch, out, 1}));
        const bool lands_in_result = in == rank && !place.in_place;
        const Extent landing = lands_in_result ? result : Extent{Space::scratch, in, 1};
        const auto received = graph.receive((rank + size - 1) % size, slot, landing);
        combined = graph.reduce({Space::send, in, 1}, landing);
        graph.order(received, combined);
    }
    if (place.in_place) {
        const auto last = graph.copy({Space::scratch, rank, 1}, result);
        for (Graph::NodeIndex node = 0; node < last; ++node) {
            graph.order(node, last);
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
