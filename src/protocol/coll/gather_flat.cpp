// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

Graph gather_flat(Place place, std::uint32_t root)
{
    Graph graph;
    const engine::Extent own{.space = engine::Space::send};
    if (place.rank != root) {
        graph.send(root, 0, own);
        return graph;
    }
    for (std::uint32_t step = 1; step < place.size; ++step) {
        const std::uint32_t from = (root + step) % place.size;
        graph.receive(from, 0, {engine::Space::receive, from, 1});
    }
    if (!place.in_place) {
        graph.copy(own, {engine::Space::receive, root, 1});
    }
    return graph;
}

}  // namespace headway::protocol::coll
