// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/direct.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph allgather_direct(Place place)
{
    Graph graph;
    const Extent home{Space::receive, place.rank, 1};
    publish_to_all(graph, place, DirectSlots::first, Graph::none);
    if (!place.in_place) {
        graph.copy({.space = Space::send}, home);
    }
    for (std::uint32_t step = 1; step < place.size; ++step) {
        const std::uint32_t from = (place.rank + place.size - step) % place.size;
        const Extent target{Space::receive, from, 1};
        const Extent source = place.in_place ? target : Extent{.space = Space::send};
        tell_read(graph, from, read_when_there(graph, from, DirectSlots::first, source, target));
        await_read(graph, from);
    }
    return graph;
}

}  // namespace headway::protocol::coll
