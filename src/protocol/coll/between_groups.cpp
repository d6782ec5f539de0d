// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/between_groups.hpp"

#include <numeric>
#include <vector>

#include "protocol/coll/reduce_tree.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

// Slot 0 is that of trees that reduce.
constexpr std::uint16_t across_slot = 1;
constexpr std::uint16_t spread_slot = 2;
constexpr Extent result{.space = Space::receive};

/// A binomial tree from place 0 on, as seen from `place` of `count`; `real` gives a place's rank.
/// `ready` is the node that lets place 0 start.
template <typename Real>
void add_spread(Graph& graph, std::uint32_t place, std::uint32_t count, const Real& real,
                Graph::NodeIndex ready)
{
    std::uint32_t top = power_of_two_below(count) * 2;
    if (place != 0) {
        top = place & (~place + 1);
        ready = graph.receive(real(place & (place - 1)), spread_slot, result);
    }
    for (std::uint32_t step = top / 2; step != 0; step /= 2) {
        if (place + step < count) {
            graph.order(ready, graph.send(real(place + step), spread_slot, result));
        }
    }
}

/// Reduces the group's vectors to its first rank, which sends them across to `peer`.
Reduced add_reduction_across(Graph& graph, const TwoSides& sides, Extent input, std::uint32_t peer)
{
    const std::uint32_t rank = sides.rank - sides.own_begin();
    const Reduced reduced =
        add_reduce_tree(graph, {rank, sides.own_size(), false}, input, sides.own_begin());
    graph.scratch_blocks = reduced.scratch_vectors * input.block_count;
    if (rank == 0) {
        graph.order(reduced.combined, graph.send(peer, across_slot, reduced.vector));
    }
    return reduced;
}

}  // namespace

Graph inter_bcast(const TwoSides& sides, std::uint32_t root)
{
    Graph graph;
    if (root == no_root) {
        return graph;
    }
    const std::uint32_t begin = root < sides.first_size ? sides.first_size : 0;
    const std::uint32_t count =
        root < sides.first_size ? sides.size - sides.first_size : sides.first_size;
    const std::uint32_t place = sides.rank == root ? 0 : sides.rank - begin + 1;
    const auto real = [&](std::uint32_t other) { return other == 0 ? root : begin + other - 1; };
    add_spread(graph, place, count + 1, real, Graph::none);
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
    add_spread(
        graph, sides.rank - begin, sides.own_size(),
        [&](std::uint32_t place) { return begin + place; }, arrived);
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
