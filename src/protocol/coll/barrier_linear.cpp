// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

Graph barrier_linear(Place place)
{
    constexpr std::uint16_t enter_slot = 0;
    constexpr std::uint16_t leave_slot = 1;
    constexpr engine::Extent nothing{.first_block = 0, .block_count = 0};
    Graph graph;
    graph.meet(engine::Meets::combining, nothing);
    if (place.rank != 0) {
        // Rank 0 answers nobody before it has heard of everybody, so nothing orders these two.
        graph.send(0, enter_slot, nothing);
        graph.receive(0, leave_slot, nothing);
        return graph;
    }
    std::vector<Graph::NodeIndex> entered;
    for (std::uint32_t rank = 1; rank < place.size; ++rank) {
        entered.push_back(graph.receive(rank, enter_slot, nothing));
    }
    const auto all_entered = add_join(graph, entered);
    for (std::uint32_t rank = 1; rank < place.size; ++rank) {
        graph.order(all_entered, graph.send(rank, leave_slot, nothing));
    }
    return graph;
}

}  // namespace headway::protocol::coll
