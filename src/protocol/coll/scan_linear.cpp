// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph scan_linear(Place place)
{
    Graph graph;
    const Extent result{.space = Space::receive};
    Graph::NodeIndex ready =
        place.in_place ? Graph::none : graph.copy({.space = Space::send}, result);
    if (place.rank != 0) {
        graph.scratch_blocks = 1;
        const Extent before{.space = Space::scratch};
        const auto received = graph.receive(place.rank - 1, 0, before);
        const auto combined = graph.reduce(before, result);
        graph.order(received, combined);
        graph.order(ready, combined);
        ready = combined;
    }
    if (place.rank + 1 < place.size) {
        graph.order(ready, graph.send(place.rank + 1, 0, result));
    }
    return graph;
}

}  // namespace headway::protocol::coll
