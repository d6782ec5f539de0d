// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/direct.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// In place a piece of the receive space is input until its rank has combined it, which that says by
// publishing the result: so it may be overwritten then.
Graph allreduce_direct(Place place)
{
    Graph graph;
    graph.blocks = engine::Blocks::split;
    graph.block_count = place.size;
    const Space input = place.in_place ? Space::receive : Space::send;
    const Space sums = place.in_place ? Space::scratch : Space::receive;
    if (place.size == 1) {
        if (!place.in_place) {
            graph.copy({.space = Space::send}, {.space = Space::receive});
        }
        return graph;
    }
    graph.scratch_blocks = place.in_place ? place.size : 0;
    publish_to_all(graph, place, DirectSlots::first, Graph::none);
    const Extent piece{input, place.rank, 1};
    const Extent sum{sums, place.rank, 1};
    const auto combined = combine_peers(graph, place, piece, piece, sum);
    if (place.in_place) {
        graph.order(combined, graph.copy(sum, {Space::receive, place.rank, 1}));
    }
    publish_to_all(graph, place, DirectSlots::second, combined);
    for (std::uint32_t step = 1; step < place.size; ++step) {
        const std::uint32_t from = (place.rank + place.size - step) % place.size;
        tell_read(graph, from,
                  read_when_there(graph, from, DirectSlots::second, {sums, from, 1},
                                  {Space::receive, from, 1}));
        await_read(graph, from);
    }
    return graph;
}

}  // namespace headway::protocol::coll
