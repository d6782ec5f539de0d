// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/direct.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph bcast_direct(Place place, std::uint32_t root)
{
    constexpr Extent vector{.space = Space::receive};
    Graph graph;
    if (place.rank != root) {
        tell_read(graph, root, read_when_there(graph, root, DirectSlots::first, vector, vector));
        return graph;
    }
    publish_to_all(graph, place, DirectSlots::first, Graph::none);
    for (std::uint32_t step = 1; step < place.size; ++step) {
        await_read(graph, (root + step) % place.size);
    }
    return graph;
}

}  // namespace headway::protocol::coll
