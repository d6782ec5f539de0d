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
        const auto received = graph.receive(from, slot, nothing);
        // A round is sent only after all earlier ones arrived: by induction the message of round k
        // says that 2^k ranks have entered. The last one alone would not do, since messages of
        // different peers arrive in any order.
        for (const Graph::NodeIndex earlier : arrived) {
            graph.order(earlier, sent);
        }
        arrived.push_back(received);
    }
    return graph;
}

}  // namespace headway::protocol::coll
