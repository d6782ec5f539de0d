// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Space;

// Round k of the first turn brings the piece that k + 1 ranks have combined, and this rank adds its
// own; after size - 1 rounds it has all of the piece that follows its own. The second turn hands
// these around. What arrives is combined where it arrived, unless that is the input.
Graph allreduce_ring(Place place)
{
    Graph graph;
    const std::uint32_t size = place.size;
    const std::uint32_t rank = place.rank;
    graph.blocks = engine::Blocks::split;
    graph.block_count = size;
    const Space input = place.in_place ? Space::receive : Space::send;
    if (size == 1) {
        if (!place.in_place) {
            graph.copy({input, 0, 1}, {Space::receive, 0, 1});
        }
        return graph;
    }
    const std::uint32_t left = (rank + size - 1) % size;
    const std::uint32_t right = (rank + 1) % size;
    const Space landing = place.in_place ? Space::scratch : Space::receive;
    graph.scratch_blocks = place.in_place ? size : 0;
    std::vector<Graph::NodeIndex> left_with(size, Graph::none);  // by piece: it has been sent
    Graph::NodeIndex combined = Graph::none;
    std::uint16_t slot = 0;
    for (std::uint32_t round = 0; round + 1 < size; ++round, ++slot) {
        const std::uint32_t out = (rank + size - round) % size;
        const std::uint32_t in = (rank + 2 * size - round - 1) % size;
        const auto sent = graph.send(right, slot, {round == 0 ? input : Space::receive, out, 1});
        graph.order(combined, sent);
        left_with[out] = sent;
        const auto received = graph.receive(left, slot, {landing, in, 1});
        combined = place.in_place ? graph.reduce({landing, in, 1}, {Space::receive, in, 1})
                                  : graph.reduce({input, in, 1}, {landing, in, 1});
        graph.order(received, combined);
    }
    for (std::uint32_t round = 0; round + 1 < size; ++round, ++slot) {
        const std::uint32_t out = (rank + 1 + size - round) % size;
        const std::uint32_t in = (rank + size - round) % size;
        graph.order(combined, graph.send(right, slot, {Space::receive, out, 1}));
        combined = graph.receive(left, slot, {Space::receive, in, 1});
        graph.order(left_with[in], combined);
    }
    return graph;
}

}  // namespace headway::protocol::coll
