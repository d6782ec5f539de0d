// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// A block that stands `offset` ranks above its origin came there over the digits of the offset to
// the base ports + 1, lowest first, and goes on over the higher ones.
Graph allgather_pipelined_bruck(const Call& call)
{
    Graph graph;
    const Place place = call.place;
    const std::uint64_t size = place.size;
    const std::uint64_t base = call.tuning.ports + 1;
    for (std::uint64_t offset = 0; offset < size; ++offset) {
        const auto origin = static_cast<std::uint32_t>((place.rank + size - offset) % size);
        const auto slot = static_cast<std::uint16_t>(origin);
        const Extent home{Space::receive, origin, 1};
        Extent block = home;
        Graph::NodeIndex here = Graph::none;
        std::uint64_t step = 1;
        if (offset != 0) {
            while (offset / step >= base) {
                step *= base;
            }
            const std::uint64_t hop = offset / step * step;
            here = graph.receive(static_cast<std::uint32_t>((place.rank + size - hop) % size), slot,
                                 home);
            step *= base;
        } else if (!place.in_place) {
            block = {.space = Space::send};
            graph.copy(block, home);
        }
        for (; offset + step < size; step *= base) {
            for (std::uint64_t hop = step; hop < base * step && offset + hop < size; hop += step) {
                const auto to = static_cast<std::uint32_t>((place.rank + hop) % size);
                graph.order(here, graph.send(to, slot, block));
            }
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
