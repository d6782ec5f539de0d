// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/direct.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph scatter_direct(Place place, std::uint32_t root)
{
    constexpr Extent own{.space = Space::receive};
    Graph graph;
    if (place.rank != root) {
        tell_read(
            graph, root,
            read_when_there(graph, root, DirectSlots::first, {Space::send, place.rank, 1}, own));
        return graph;
    }
    publish_to_all(graph, place, DirectSlots::first, Graph::none);
    if (!place.in_place) {
        graph.copy({Space::send, root, 1}, own);
    }
    for (std::uint32_t step = 1; step < place.size; ++step) {
        await_read(graph, (root + step) % place.size);
    }
    return graph;
}

}  // namespace headway::protocol::coll
