// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t in_node_slot = 0;
constexpr std::uint16_t to_root_slot = 1;

/// The root gets its own node's blocks one by one, those of another node from its lead in one
/// message, through scratch where they are not neighbours.
void add_root(Graph& graph, const Call& call)
{
    const Topology& topology = *call.topology;
    for (const std::uint32_t rank : topology.ranks_of(topology.node_of(call.root))) {
        if (rank != call.root) {
            graph.receive(rank, in_node_slot, {Space::receive, rank, 1});
        } else if (!call.place.in_place) {
            graph.copy({.space = Space::send}, {Space::receive, rank, 1});
        }
    }
    for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
        const auto ranks = topology.ranks_of(node);
        const auto count = static_cast<std::uint32_t>(ranks.size());
        if (node == topology.node_of(call.root)) {
            continue;
        }
        if (ranks.back() - ranks.front() + 1 == count) {
            graph.receive(ranks.front(), to_root_slot, {Space::receive, ranks.front(), count});
            continue;
        }
        const std::uint32_t first = graph.scratch_blocks;
        graph.scratch_blocks += count;
        const auto received =
            graph.receive(ranks.front(), to_root_slot, {Space::scratch, first, count});
        for_each_run(ranks, [&](std::uint32_t place, std::uint32_t rank, std::uint32_t run) {
            graph.order(received, graph.copy({Space::scratch, first + place, run},
                                             {Space::receive, rank, run}));
        });
    }
}

}  // namespace

Graph gather_two_level(const Call& call)
{
    Graph graph;
    const std::uint32_t rank = call.place.rank;
    const Extent own{.space = Space::send};
    if (rank == call.root) {
        add_root(graph, call);
        return graph;
    }
    const Team node = Team::of_node(*call.topology, rank, call.root);
    if (node.index() != 0) {
        graph.send(node.rank_at(0), in_node_slot, own);
        return graph;
    }
    if (node.size() == 1) {
        graph.send(call.root, to_root_slot, own);
        return graph;
    }
    graph.scratch_blocks = node.size();
    std::vector<Graph::NodeIndex> here{graph.copy(own, {Space::scratch, 0, 1})};
    for (std::uint32_t member = 1; member < node.size(); ++member) {
        here.push_back(
            graph.receive(node.rank_at(member), in_node_slot, {Space::scratch, member, 1}));
    }
    const auto sent = graph.send(call.root, to_root_slot, {Space::scratch, 0, node.size()});
    for (const Graph::NodeIndex arrived : here) {
        graph.order(arrived, sent);
    }
    return graph;
}

}  // namespace headway::protocol::coll
