// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// In place, the caller's blocks are in the receive space: they go out through scratch, so that
// an arriving block never overwrites one that has not left.
Graph alltoall_pairwise(Place place, std::uint32_t window)
{
    Graph graph;
    const std::uint32_t size = place.size;
    std::vector<Graph::NodeIndex> sent;
    const auto send = [&](std::uint32_t to, Extent block, Graph::NodeIndex ready) {
        const auto node = graph.send(to, 0, block);
        graph.order(ready, node);
        if (sent.size() >= window) {
            graph.order(sent[sent.size() - window], node);
        }
        sent.push_back(node);
    };
    if (place.in_place) {
        graph.scratch_blocks = size;
        for (std::uint32_t step = 1; step < size; ++step) {
            const std::uint32_t peer = (place.rank + step) % size;
            const Extent saved_block{Space::scratch, peer, 1};
            const auto saved = graph.copy({Space::receive, peer, 1}, saved_block);
            graph.order(saved, graph.receive(peer, 0, {Space::receive, peer, 1}));
            send(peer, saved_block, saved);
        }
        return graph;
    }
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t from = (place.rank + size - step) % size;
        graph.receive(from, 0, {Space::receive, from, 1});
    }
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t to = (place.rank + step) % size;
        send(to, {Space::send, to, 1}, Graph::none);
    }
    graph.copy({Space::send, place.rank, 1}, {Space::receive, place.rank, 1});
    return graph;
}

}  // namespace headway::protocol::coll
