// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph allgather_linear(Place place)
{
    Graph graph;
    const std::uint32_t size = place.size;
    const Extent home{Space::receive, place.rank, 1};
    const Extent own = place.in_place ? home : Extent{.space = Space::send};
    for (std::uint32_t step = 1; step < size; ++step) {
        const std::uint32_t from = (place.rank + size - step) % size;
        graph.receive(from, 0, {Space::receive, from, 1});
    }
    for (std::uint32_t step = 1; step < size; ++step) {
        graph.send((place.rank + step) % size, 0, own);
    }
    if (!place.in_place) {
        graph.copy(own, home);
    }
    return graph;
}

}  // namespace headway::protocol::coll
