// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph neighbor_exchange(const Neighbors& neighbors, bool has_one_block)
{
    Graph graph;
    const auto slot_of = [&](std::size_t block) {
        return static_cast<std::uint16_t>(neighbors.are_opposite ? block : 0);
    };
    for (std::size_t i = 0; i < neighbors.sources.size(); ++i) {
        const auto block = static_cast<std::uint32_t>(i);
        if (const int from = neighbors.sources[i]; from >= 0) {
            // Named as by its sender, who sends it the other way.
            graph.receive(static_cast<std::uint32_t>(from), slot_of(i ^ 1U),
                          {Space::receive, block, 1});
        }
    }
    for (std::size_t i = 0; i < neighbors.destinations.size(); ++i) {
        const auto block = static_cast<std::uint32_t>(i);
        if (const int to = neighbors.destinations[i]; to >= 0) {
            graph.send(static_cast<std::uint32_t>(to), slot_of(i),
                       {Space::send, has_one_block ? 0 : block, 1});
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
