// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Space;

// In place, the caller's blocks are in the receive space: they go out through scratch, so that
// an arriving block never overwrites one that has not left.
Graph alltoall_pairwise(Place place)
{
    Graph graph;
    const std::uint32_t size = place.size;
    Space outgoing = Space::send;
    Graph::NodeIndex saved = Graph::none;
    if (place.in_place) {
        graph.scratch_blocks = size;
        outgoing = Space::scratch;
        saved = graph.copy({Space::receive, 0, size}, {Space::scratch, 0, size});
    }
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t from = (place.rank + size - step) % size;
        graph.order(saved, graph.receive(from, 0, {Space::receive, from, 1}));
    }
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t to = (place.rank + step) % size;
        graph.order(saved, graph.send(to, 0, {outgoing, to, 1}));
    }
    if (!place.in_place) {
        graph.copy({Space::send, place.rank, 1}, {Space::receive, place.rank, 1});
    }
    return graph;
}

}  // namespace headway::protocol::coll
