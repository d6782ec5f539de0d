// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

// Blocks go in pairs, 2i with 2i + 1. After the first swap a rank has its own pair; then it swaps
// what it got last with the neighbours on either side in turn, so pairs arrive from both sides,
// nearest first.
Graph allgather_neighbor_exchange(Place place)
{
    Graph graph;
    const std::uint32_t size = place.size;
    const std::uint32_t rank = place.rank;
    const std::uint32_t pairs = size / 2;
    const std::uint32_t pair = rank / 2;
    const bool is_even = rank % 2 == 0;
    const std::uint32_t before = (rank + size - 1) % size;
    const std::uint32_t after = (rank + 1) % size;
    const Extent home{Space::receive, rank, 1};
    const Extent own = place.in_place ? home : Extent{.space = Space::send};
    Graph::NodeIndex kept = Graph::none;
    if (!place.in_place) {
        kept = graph.copy(own, home);
    }
    const std::uint32_t twin = is_even ? after : before;
    graph.send(twin, 0, own);
    Graph::NodeIndex here = graph.receive(twin, 0, {Space::receive, twin, 1});
    Extent outgoing{Space::receive, 2 * pair, 2};
    for (std::uint32_t round = 1; round < pairs; ++round) {
        const bool is_outward = round % 2 != 0;
        const std::uint32_t away = (round + 1) / 2;
        const bool is_before = is_even == is_outward;
        const std::uint32_t peer = is_before ? before : after;
        const std::uint32_t coming =
            is_before ? (pair + pairs - away) % pairs : (pair + away) % pairs;
        const auto slot = static_cast<std::uint16_t>(round);
        const auto sent = graph.send(peer, slot, outgoing);
        graph.order(here, sent);
        graph.order(round == 1 ? kept : Graph::none, sent);
        outgoing = {Space::receive, 2 * coming, 2};
        here = graph.receive(peer, slot, outgoing);
    }
    return graph;
}

}  // namespace headway::protocol::coll
