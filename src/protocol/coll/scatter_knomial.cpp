// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// As gather_knomial, the other way.
Graph scatter_knomial(const Call& call)
{
    Graph graph;
    const Team team = Team::all(call.place, call.root);
    const TreePlace tree(team, call.tuning.radix);
    const std::uint32_t size = team.size();
    const Extent own{.space = Space::receive};
    if (tree.is_top()) {
        tree.for_each_child_from_far([&](std::uint32_t child, std::uint32_t count) {
            const std::uint32_t first = team.rank_at(child);
            if (first + count <= size) {
                graph.send(first, 0, {Space::send, first, count});
                return;
            }
            graph.scratch_blocks = count;
            const std::uint32_t unwrapped = size - first;
            const auto one =
                graph.copy({Space::send, first, unwrapped}, {Space::scratch, 0, unwrapped});
            const auto other = graph.copy({Space::send, 0, count - unwrapped},
                                          {Space::scratch, unwrapped, count - unwrapped});
            const auto sent = graph.send(first, 0, {Space::scratch, 0, count});
            graph.order(one, sent);
            graph.order(other, sent);
        });
        if (!call.place.in_place) {
            graph.copy({Space::send, call.root, 1}, own);
        }
        return graph;
    }
    const std::uint32_t parent = team.rank_at(tree.parent());
    const std::uint32_t below = tree.count_below();
    if (below == 1) {
        graph.receive(parent, 0, own);
        return graph;
    }
    graph.scratch_blocks = below;
    const auto received = graph.receive(parent, 0, {Space::scratch, 0, below});
    tree.for_each_child_from_far([&](std::uint32_t child, std::uint32_t count) {
        graph.order(received, graph.send(team.rank_at(child), 0,
                                         {Space::scratch, child - team.index(), count}));
    });
    graph.order(received, graph.copy({Space::scratch, 0, 1}, own));
    return graph;
}

}  // namespace headway::protocol::coll
