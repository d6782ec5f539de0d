// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

Graph bcast_binomial(Place place, std::uint32_t root)
{
    Graph graph;
    const engine::Extent buffer{.space = engine::Space::receive};
    const std::uint32_t virtual_rank = (place.rank + place.size - root) % place.size;
    const auto real = [&](std::uint32_t v) { return (v + root) % place.size; };

    Graph::NodeIndex arrived = Graph::none;
    std::uint32_t top = power_of_two_below(place.size) * 2;
    if (virtual_rank != 0) {
        top = virtual_rank & (~virtual_rank + 1);
        arrived = graph.receive(real(virtual_rank & (virtual_rank - 1)), 0, buffer);
    }
    for (std::uint32_t step = top / 2; step != 0; step /= 2) {
        if (virtual_rank + step < place.size) {
            graph.order(arrived, graph.send(real(virtual_rank + step), 0, buffer));
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
