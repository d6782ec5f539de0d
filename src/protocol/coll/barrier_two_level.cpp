// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Graph barrier_two_level(const Call& call)
{
    constexpr std::uint16_t enter_slot = 0;
    constexpr std::uint16_t leave_slot = 1;
    constexpr std::uint16_t first_round_slot = 2;
    constexpr Extent nothing{.space = Space::send, .first_block = 0, .block_count = 0};
    Graph graph;
    const std::uint32_t rank = call.place.rank;
    const Team node = Team::of_node(*call.topology, rank, 0);
    if (node.index() != 0) {
        graph.send(node.rank_at(0), enter_slot, nothing);
        graph.receive(node.rank_at(0), leave_slot, nothing);
        return graph;
    }
    std::vector<Graph::NodeIndex> entered;
    for (std::uint32_t member = 1; member < node.size(); ++member) {
        entered.push_back(graph.receive(node.rank_at(member), enter_slot, nothing));
    }
    const std::vector<Graph::NodeIndex> arrived =
        add_dissemination(graph, Team::of_leads(*call.topology, rank, 0), call.tuning.ports,
                          first_round_slot, entered);
    const auto all_entered = add_join(graph, arrived);
    for (std::uint32_t member = 1; member < node.size(); ++member) {
        graph.order(all_entered, graph.send(node.rank_at(member), leave_slot, nothing));
    }
    return graph;
}

}  // namespace headway::protocol::coll
