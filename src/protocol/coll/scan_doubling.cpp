// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t shift_slot = 0;
constexpr std::uint16_t first_round_slot = 1;
constexpr Extent result{.space = Space::receive};

/// Receive holds the operand of `place`, put there by node `ready`; afterwards it holds that of all
/// ranks up to `place`. Ranks of the graph are those of `place` plus `first_rank`.
///
/// After round k it stands for the 2^k ranks that end here; what arrives next stands for the 2^k
/// ranks before them, so each combination joins neighbours in rank order.
void add_rounds(Graph& graph, Place place, std::uint32_t first_rank, Graph::NodeIndex ready)
{
    Graph::NodeIndex combined[2] = {Graph::none, Graph::none};
    std::uint16_t slot = first_round_slot;
    for (std::uint32_t distance = 1; distance < place.size; distance *= 2, ++slot) {
        Graph::NodeIndex sent = Graph::none;
        if (place.rank + distance < place.size) {
            sent = graph.send(first_rank + place.rank + distance, slot, result);
            graph.order(ready, sent);
        }
        if (place.rank < distance) {
            continue;
        }
        // Two vectors in turn: the next operand may arrive while this one is combined.
        const std::uint32_t vector = slot % 2U;
        const Extent incoming{Space::scratch, vector, 1};
        const auto received = graph.receive(first_rank + place.rank - distance, slot, incoming);
        graph.order(combined[vector], received);
        const auto reduced = graph.reduce(incoming, result);
        graph.order(received, reduced);
        graph.order(ready, reduced);
        graph.order(sent, reduced);
        combined[vector] = reduced;
        ready = reduced;
    }
    graph.scratch_blocks = 2;
}

}  // namespace

Graph scan_doubling(Place place)
{
    Graph graph;
    const Graph::NodeIndex ready =
        place.in_place ? Graph::none : graph.copy({.space = Space::send}, result);
    add_rounds(graph, place, 0, ready);
    return graph;
}

// In place, the contribution leaves from scratch, so that the operand of the rank below need not
// wait in a chain of ranks for the contribution to leave.
Graph exscan_doubling(Place place)
{
    constexpr std::uint32_t contribution_vector = 2;
    Graph graph;
    Extent contribution{.space = Space::send};
    Graph::NodeIndex saved = Graph::none;
    const bool is_last = place.rank + 1 == place.size;
    if (place.in_place && !is_last) {
        contribution = {Space::scratch, contribution_vector, 1};
        saved = graph.copy(result, contribution);
    }
    if (!is_last) {
        graph.order(saved, graph.send(place.rank + 1, shift_slot, contribution));
    }
    if (place.rank != 0) {
        const auto arrived = graph.receive(place.rank - 1, shift_slot, result);
        graph.order(saved, arrived);
        add_rounds(graph, {place.rank - 1, place.size - 1, false}, 1, arrived);
    }
    graph.scratch_blocks = contribution_vector + 1;
    return graph;
}

}  // namespace headway::protocol::coll
