// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/between_groups.hpp"

#include <numeric>
#include <vector>

#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

// Slot 0 is that of trees that reduce.
constexpr std::uint16_t across_slot = 1;
constexpr std::uint16_t spread_slot = 2;
constexpr Extent result{.space = Space::receive};

/// The own group, its first rank first.
Team own_group(const TwoSides& sides)
{
    return Team::range(sides.rank, sides.own_begin(), sides.own_size());
}

/// Reduces the group's vectors to its first rank, which sends them across to `peer`.
void add_reduction_across(Graph& graph, const TwoSides& sides, Extent input, std::uint32_t peer)
{
    const Reduced reduced = add_tree_reduction(graph, own_group(sides), {}, {.vector = input});
    if (sides.rank == sides.own_begin()) {
        graph.order(reduced.combined, graph.send(peer, across_slot, reduced.vector));
    }
}

}  // namespace

Graph inter_bcast(const TwoSides& sides, std::uint32_t root)
{
    Graph graph;
    if (root == no_root) {
        return graph;
    }
    const bool is_root_first = root < sides.first_size;
    const std::uint32_t begin = is_root_first ? sides.first_size : 0;
    const std::uint32_t count = is_root_first ? sides.size - sides.first_size : sides.first_size;
    add_tree_spread(graph, Team::headed(sides.rank, root, begin, count), {.slot = spread_slot},
                    result, Graph::none);
    return graph;
}

Graph inter_reduce(const TwoSides& sides, std::uint32_t root)
{
    Graph graph;
    if (root == sides.rank) {
        graph.receive(sides.other_begin(), across_slot, result);
    } else if (root != no_root) {
        add_reduction_across(graph, sides, {.space = Space::send}, root);
    }
    return graph;
}

Graph inter_allreduce(const TwoSides& sides)
{
    Graph graph;
    const std::uint32_t begin = sides.own_begin();
    add_reduction_across(graph, sides, {.space = Space::send}, sides.other_begin());
    Graph::NodeIndex arrived = Graph::none;
    if (sides.rank == begin) {
        arrived = graph.receive(sides.other_begin(), across_slot, result);
    }
    add_tree_spread(graph, own_group(sides), {.slot = spread_slot}, result, arrived);
    return graph;
}

Graph inter_gather(const TwoSides& sides, std::uint32_t root)
{
    Graph graph;
    if (root == sides.rank) {
        for (std::uint32_t block = 0; block < sides.other_size(); ++block) {
            graph.receive(sides.other_begin() + block, across_slot, {Space::receive, block, 1});
        }
    } else if (root != no_root) {
        graph.send(root, across_slot, {.space = Space::send});
    }
    return graph;
}

Graph inter_scatter(const TwoSides& sides, std::uint32_t root)
{
    Graph graph;
    if (root == sides.rank) {
        for (std::uint32_t block = 0; block < sides.other_size(); ++block) {
            graph.send(sides.other_begin() + block, across_slot, {Space::send, block, 1});
        }
    } else if (root != no_root) {
        graph.receive(root, across_slot, result);
    }
    return graph;
}

Graph inter_exchange(const TwoSides& sides, bool has_one_block)
{
    std::vector<int> others(sides.other_size());
    std::iota(others.begin(), others.end(), static_cast<int>(sides.other_begin()));
    return neighbor_exchange({others, others, false}, has_one_block);
}

Graph inter_reduce_scatter(const TwoSides& sides)
{
    Graph graph;
    const std::uint32_t begin = sides.own_begin();
    const std::uint32_t count = sides.own_size();
    add_reduction_across(graph, sides, {Space::send, 0, count}, sides.other_begin());
    if (sides.rank != begin) {
        graph.receive(begin, spread_slot, result);
        return graph;
    }
    const Extent vector{Space::scratch, graph.scratch_blocks, count};
    graph.scratch_blocks += count;
    const auto arrived = graph.receive(sides.other_begin(), across_slot, vector);
    for (std::uint32_t block = 1; block < count; ++block) {
        graph.order(arrived, graph.send(begin + block, spread_slot,
                                        {Space::scratch, vector.first_block + block, 1}));
    }
    graph.order(arrived, graph.copy({Space::scratch, vector.first_block, 1}, result));
    return graph;
}

}  // namespace headway::protocol::coll
