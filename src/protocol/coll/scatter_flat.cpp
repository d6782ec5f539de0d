// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

Graph scatter_flat(Place place, std::uint32_t root)
{
    Graph graph;
    const engine::Extent own{.space = engine::Space::receive};
    if (place.rank != root) {
        graph.receive(root, 0, own);
        return graph;
    }
    for (std::uint32_t step = 1; step < place.size; ++step) {
        const std::uint32_t to = (root + step) % place.size;
        graph.send(to, 0, {engine::Space::send, to, 1});
    }
    if (!place.in_place) {
        graph.copy({engine::Space::send, root, 1}, own);
    }
    return graph;
}

}  // namespace headway::protocol::coll
