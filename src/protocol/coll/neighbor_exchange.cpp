// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"
#include "protocol/coll/edge_slots.hpp"

namespace headway::protocol::coll {

using engine::Space;

Graph neighbor_exchange(const Neighbors& neighbors, bool has_one_block)
{
    Graph graph;
    EdgeSlots arriving(neighbors.are_opposite);
    for (std::size_t i = 0; i < neighbors.sources.size(); ++i) {
        if (const int from = neighbors.sources[i]; from >= 0) {
            graph.receive(static_cast<std::uint32_t>(from), arriving.of_source(from, i),
                          {Space::receive, static_cast<std::uint32_t>(i), 1});
        }
    }
    EdgeSlots leaving(neighbors.are_opposite);
    for (std::size_t i = 0; i < neighbors.destinations.size(); ++i) {
        if (const int to = neighbors.destinations[i]; to >= 0) {
            const auto block = static_cast<std::uint32_t>(has_one_block ? 0 : i);
            graph.send(static_cast<std::uint32_t>(to), leaving.of_destination(to, i),
                       {Space::send, block, 1});
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
