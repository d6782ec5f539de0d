// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

namespace {

/// Virtual rank `v` got `piece` with its subtree, so the ring need not bring it again.
bool holds_from_scatter(std::uint32_t v, std::uint32_t piece, std::uint32_t size)
{
    const std::uint32_t width = v == 0 ? size : v & (~v + 1);
    return piece >= v && piece - v < width;
}

}  // namespace

// Virtual ranks count from the root; piece v belongs to virtual rank v. The scatter hands subtree
// [v, v + width) its pieces in one message; then every rank sends on, around the ring, the piece
// that it got last.
Graph bcast_scatter_ring(Place place, std::uint32_t root)
{
    constexpr std::uint16_t scatter_slot = 0;
    constexpr std::uint16_t ring_slot = 1;
    Graph graph;
    graph.blocks = engine::Blocks::split;
    graph.block_count = place.size;
    const std::uint32_t size = place.size;
    const std::uint32_t virtual_rank = (place.rank + size - root) % size;
    const auto real = [&](std::uint32_t v) { return (v + root) % size; };
    const auto pieces = [](std::uint32_t first, std::uint32_t count) {
        return engine::Extent{engine::Space::receive, first, count};
    };

    Graph::NodeIndex scattered = Graph::none;
    std::uint32_t width = power_of_two_below(size) * 2;
    if (virtual_rank != 0) {
        width = virtual_rank & (~virtual_rank + 1);
        scattered = graph.receive(real(virtual_rank & (virtual_rank - 1)), scatter_slot,
                                  pieces(virtual_rank, std::min(width, size - virtual_rank)));
    }
    for (std::uint32_t step = width / 2; step != 0; step /= 2) {
        const std::uint32_t child = virtual_rank + step;
        if (child < size) {
            graph.order(scattered, graph.send(real(child), scatter_slot,
                                              pieces(child, std::min(step, size - child))));
        }
    }

    Graph::NodeIndex piece_here = scattered;
    const std::uint32_t left = (virtual_rank + size - 1) % size;
    const std::uint32_t right = (virtual_rank + 1) % size;
    for (std::uint32_t round = 0; round + 1 < size; ++round) {
        const std::uint32_t out = (virtual_rank + size - round) % size;
        const std::uint32_t in = (virtual_rank + size - round - 1) % size;
        const auto slot = static_cast<std::uint16_t>(ring_slot + round);
        if (!holds_from_scatter(right, out, size)) {
            graph.order(piece_here, graph.send(real(right), slot, pieces(out, 1)));
        }
        piece_here = scattered;
        if (!holds_from_scatter(virtual_rank, in, size)) {
            piece_here = graph.receive(real(left), slot, pieces(in, 1));
        }
    }
    return graph;
}

}  // namespace headway::protocol::coll
