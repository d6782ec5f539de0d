// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph allgather_ring(Place place)
{
    Graph graph;
    const std::uint32_t size = place.size;
    const std::uint32_t rank = place.rank;
    Extent outgoing{Space::receive, rank, 1};
    Graph::NodeIndex here = Graph::none;
    if (!place.in_place) {
        outgoing = {.space = Space::send};
        graph.copy(outgoing, {Space::receive, rank, 1});
    }
    for (std::uint32_t round = 0; round + 1 < size; ++round) {
        const auto slot = static_cast<std::uint16_t>(round);
        graph.order(here, graph.send((rank + 1) % size, slot, outgoing));
        const std::uint32_t block = (rank + 2 * size - round - 1) % size;
        outgoing = {Space::receive, block, 1};
        here = graph.receive((rank + size - 1) % size, slot, outgoing);
    }
    return graph;
}

}  // namespace headway::protocol::coll
