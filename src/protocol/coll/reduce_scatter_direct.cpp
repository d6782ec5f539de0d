// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/direct.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// In place the result overwrites input that others read, so it comes after everything else.
Graph reduce_scatter_direct(Place place)
{
    Graph graph;
    const Extent own{Space::send, place.rank, 1};
    const Extent result{.space = Space::receive};
    if (place.size == 1) {
        if (!place.in_place) {
            graph.copy(own, result);
        }
        return graph;
    }
    graph.scratch_blocks = place.in_place ? 1 : 0;
    publish_to_all(graph, place, DirectSlots::first, Graph::none);
    const Extent sum = place.in_place ? Extent{.space = Space::scratch} : result;
    const auto combined = combine_peers(graph, place, own, own, sum);
    const auto last = place.in_place ? graph.copy(sum, result) : Graph::none;
    graph.order(combined, last);
    for (std::uint32_t step = 1; step < place.size; ++step) {
        const std::uint32_t peer = (place.rank + step) % place.size;
        tell_read(graph, peer, combined);
        graph.order(await_read(graph, peer), last);
    }
    return graph;
}

}  // namespace headway::protocol::coll
