// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

Graph barrier_dissemination(Place place)
{
    Graph graph;
    const engine::Extent nothing{.space = engine::Space::send, .first_block = 0, .block_count = 0};
    std::vector<Graph::NodeIndex> arrived;
    for (std::uint32_t round = 0; round < rounds_of_doubling(place.size); ++round) {
        const std::uint32_t distance = 1U << round;
        const std::uint32_t to = (place.rank + distance) % place.size;
        const std::uint32_t from = (place.rank + place.size - distance) % place.size;
        const auto slot = static_cast<std::uint16_t>(round);
        const auto sent = graph.send(to, slot, nothing);
        // A round is sent only after all before it arrived, since later ones may overtake: by
        // induction the message of round k says that the 2^k ranks up to its sender have entered.
        for (const Graph::NodeIndex earlier : arrived) {
            graph.order(earlier, sent);
        }
        arrived.push_back(graph.receive(from, slot, nothing));
    }
    return graph;
}

}  // namespace headway::protocol::coll
