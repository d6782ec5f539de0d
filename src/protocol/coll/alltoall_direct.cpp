// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/direct.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// In place, the caller's blocks are in the receive space: all of them leave it before any comes.
Graph alltoall_direct(Place place)
{
    Graph graph;
    Graph::NodeIndex saved = Graph::none;
    if (place.in_place && place.size > 1) {
        graph.scratch_blocks = place.size;
        saved = graph.copy({Space::receive, 0, place.size}, {Space::scratch, 0, place.size});
    }
    publish_to_all(graph, place, DirectSlots::first, saved);
    if (!place.in_place) {
        graph.copy({Space::send, place.rank, 1}, {Space::receive, place.rank, 1});
    }
    for (std::uint32_t step = 1; step < place.size; ++step) {
        const std::uint32_t from = (place.rank + place.size - step) % place.size;
        const Extent source{place.in_place ? Space::scratch : Space::send, place.rank, 1};
        const auto read =
            read_when_there(graph, from, DirectSlots::first, source, {Space::receive, from, 1});
        graph.order(saved, read);
        tell_read(graph, from, read);
        await_read(graph, from);
    }
    return graph;
}

}  // namespace headway::protocol::coll
