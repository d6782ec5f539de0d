// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

// Scratch block i holds the block of rank (rank + i) mod size. Round k brings 2^k further blocks
// from the rank 2^k above; at the end scratch is turned back into rank order.
Graph build(Place place, bool is_listed)
{
    Graph graph;
    const std::uint32_t size = place.size;
    const Extent own =
        place.in_place ? Extent{Space::receive, place.rank, 1} : Extent{.space = Space::send};
    graph.scratch_blocks = size;
    Graph::NodeIndex ready = graph.copy(own, {Space::scratch, 0, 1});
    Graph::NodeIndex arrived = ready;
    std::uint16_t slot = 0;
    for (std::uint32_t have = 1; have < size; ++slot) {
        const std::uint32_t moved = std::min(have, size - have);
        const auto sent =
            graph.send((place.rank + size - have) % size, slot, {Space::scratch, 0, moved});
        graph.order(ready, sent);
        // A round sends what all earlier rounds brought: order receives one after the other.
        graph.order(arrived, sent);
        const auto received =
            graph.receive((place.rank + have) % size, slot, {Space::scratch, have, moved});
        graph.order(arrived, received);
        arrived = received;
        have += moved;
    }
    const auto deliver = [&](std::uint32_t from, std::uint32_t to, std::uint32_t count) {
        graph.order(arrived,
                    graph.copy({Space::scratch, from, count}, {Space::receive, to, count}));
    };
    if (is_listed) {
        for (std::uint32_t i = 0; i < size; ++i) {
            deliver(i, (place.rank + i) % size, 1);
        }
        return graph;
    }
    const std::uint32_t above = size - place.rank;
    deliver(0, place.rank, above);
    if (place.rank != 0) {
        deliver(above, 0, place.rank);
    }
    return graph;
}

}  // namespace

Graph allgather_bruck(Place place)
{
    return build(place, false);
}

Graph allgatherv_bruck(Place place)
{
    return build(place, true);
}

}  // namespace headway::protocol::coll
