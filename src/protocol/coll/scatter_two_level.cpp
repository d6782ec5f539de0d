// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t in_node_slot = 0;
constexpr std::uint16_t from_root_slot = 1;

/// As gather_two_level, the other way.
void add_root(Graph& graph, const Call& call)
{
    const Topology& topology = *call.topology;
    for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
        const auto ranks = topology.ranks_of(node);
        const auto count = static_cast<std::uint32_t>(ranks.size());
        if (node == topology.node_of(call.root)) {
            continue;
        }
        if (ranks.back() - ranks.front() + 1 == count) {
            graph.send(ranks.front(), from_root_slot, {Space::send, ranks.front(), count});
            continue;
        }
        const std::uint32_t first = graph.scratch_blocks;
        graph.scratch_blocks += count;
        std::vector<Graph::NodeIndex> packed;
        for_each_run(ranks, [&](std::uint32_t place, std::uint32_t rank, std::uint32_t run) {
            packed.push_back(
                graph.copy({Space::send, rank, run}, {Space::scratch, first + place, run}));
        });
        const auto sent = graph.send(ranks.front(), from_root_slot, {Space::scratch, first, count});
        for (const Graph::NodeIndex copied : packed) {
            graph.order(copied, sent);
        }
    }
    for (const std::uint32_t rank : topology.ranks_of(topology.node_of(call.root))) {
        if (rank != call.root) {
            graph.send(rank, in_node_slot, {Space::send, rank, 1});
        } else if (!call.place.in_place) {
            graph.copy({Space::send, rank, 1}, {.space = Space::receive});
        }
    }
}

}  // namespace

Graph scatter_two_level(const Call& call)
{
    Graph graph;
    const std::uint32_t rank = call.place.rank;
    const Extent own{.space = Space::receive};
    if (rank == call.root) {
        add_root(graph, call);
        return graph;
    }
    const Team node = Team::of_node(*call.topology, rank, call.root);
    if (node.index() != 0) {
        graph.receive(node.rank_at(0), in_node_slot, own);
        return graph;
    }
    if (node.size() == 1) {
        graph.receive(call.root, from_root_slot, own);
        return graph;
    }
    graph.scratch_blocks = node.size();
    const auto received =
        graph.receive(call.root, from_root_slot, {Space::scratch, 0, node.size()});
    for (std::uint32_t member = 1; member < node.size(); ++member) {
        graph.order(received,
                    graph.send(node.rank_at(member), in_node_slot, {Space::scratch, member, 1}));
    }
    graph.order(received, graph.copy({Space::scratch, 0, 1}, own));
    return graph;
}

}  // namespace headway::protocol::coll
