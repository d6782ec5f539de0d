// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// Virtual ranks count from the root, so that a rank and those below it are neighbours. Their blocks
// stand in scratch in this order; at the root they land in rank order, in two parts where they
// wrap.
Graph gather_knomial(const Call& call)
{
    Graph graph;
    const Team team = Team::all(call.place, call.root);
    const TreePlace tree(team, call.tuning.radix);
    const std::uint32_t size = team.size();
    const Extent own{.space = Space::send};
    if (tree.is_top()) {
        tree.for_each_child([&](std::uint32_t child, std::uint32_t count) {
            const std::uint32_t first = team.rank_at(child);
            if (first + count <= size) {
                graph.receive(first, 0, {Space::receive, first, count});
                return;
            }
            graph.scratch_blocks = count;
            const auto received = graph.receive(first, 0, {Space::scratch, 0, count});
            const std::uint32_t unwrapped = size - first;
            graph.order(received, graph.copy({Space::scratch, 0, unwrapped},
                                             {Space::receive, first, unwrapped}));
            graph.order(received, graph.copy({Space::scratch, unwrapped, count - unwrapped},
                                             {Space::receive, 0, count - unwrapped}));
        });
        if (!call.place.in_place) {
            graph.copy(own, {Space::receive, call.root, 1});
        }
        return graph;
    }
    const std::uint32_t parent = team.rank_at(tree.parent());
    const std::uint32_t below = tree.count_below();
    if (below == 1) {
        graph.send(parent, 0, own);
        return graph;
    }
    graph.scratch_blocks = below;
    std::vector<Graph::NodeIndex> here{graph.copy(own, {Space::scratch, 0, 1})};
    tree.for_each_child([&](std::uint32_t child, std::uint32_t count) {
        here.push_back(
            graph.receive(team.rank_at(child), 0, {Space::scratch, child - team.index(), count}));
    });
    const auto sent = graph.send(parent, 0, {Space::scratch, 0, below});
    for (const Graph::NodeIndex node : here) {
        graph.order(node, sent);
    }
    return graph;
}

}  // namespace headway::protocol::coll
