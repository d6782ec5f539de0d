// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/direct.hpp"

namespace headway::protocol::coll {

using engine::Extent;

// From the highest rank down, as a node's source is the operand of lower ranks.
Graph::NodeIndex combine_peers(Graph& graph, Place place, Extent source, Extent own, Extent result)
{
    const std::uint32_t last = place.size - 1;
    Graph::NodeIndex combined =
        last == place.rank ? graph.copy(own, result)
                           : read_when_there(graph, last, DirectSlots::first, source, result);
    for (std::uint32_t peer = last; peer-- != 0;) {
        Graph::NodeIndex next = Graph::none;
        if (peer == place.rank) {
            next = graph.reduce(own, result);
        } else {
            const auto there = graph.wait(peer, DirectSlots::first);
            next = graph.peer_reduce(peer, source, result);
            graph.order(there, next);
        }
        graph.order(combined, next);
        combined = next;
    }
    return combined;
}

}  // namespace headway::protocol::coll
