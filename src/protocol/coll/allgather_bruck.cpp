// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

// Scratch block i holds the block of rank (rank + i) mod size. Once 0 to step - 1 are there, a
// round brings as many again from each of the ranks step, 2 step ... above; at the end scratch is
// turned back into rank order.
Graph build(Place place, std::uint32_t ports, bool is_listed)
{
    Graph graph;
    const std::uint32_t size = place.size;
    const Extent own =
        place.in_place ? Extent{Space::receive, place.rank, 1} : Extent{.space = Space::send};
    graph.scratch_blocks = size;
    // What a round sends must be there; what it brings is waited for from the start.
    std::vector<Graph::NodeIndex> here{graph.copy(own, {Space::scratch, 0, 1})};
    std::uint16_t slot = 0;
    for (std::uint64_t step = 1; step < size; step *= std::uint64_t{ports} + 1, ++slot) {
        const std::size_t before = here.size();
        for (std::uint64_t away = step; away <= ports * step && away < size; away += step) {
            const auto distance = static_cast<std::uint32_t>(away);
            const auto moved = static_cast<std::uint32_t>(std::min(step, size - away));
            const auto sent =
                graph.send((place.rank + size - distance) % size, slot, {Space::scratch, 0, moved});
            for (std::size_t i = 0; i < before; ++i) {
                graph.order(here[i], sent);
            }
            here.push_back(graph.receive((place.rank + distance) % size, slot,
                                         {Space::scratch, distance, moved}));
        }
    }
    if (is_listed) {
        here = {add_join(graph, here)};
    }
    const auto deliver = [&](std::uint32_t from, std::uint32_t to, std::uint32_t count) {
        const auto copied = graph.copy({Space::scratch, from, count}, {Space::receive, to, count});
        for (const Graph::NodeIndex node : here) {
            graph.order(node, copied);
        }
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

Graph allgather_bruck(Place place, std::uint32_t ports)
{
    return build(place, ports, false);
}

Graph allgatherv_bruck(Place place)
{
    return build(place, 1, true);
}

}  // namespace headway::protocol::coll
