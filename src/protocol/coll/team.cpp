// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/team.hpp"

#include <algorithm>

#include "protocol/coll/core_ranks.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

Team Team::range(std::uint32_t rank, std::uint32_t first, std::uint32_t size, std::uint32_t shift)
{
    Team team;
    team.index_ = (rank - first + size - shift) % size;
    team.size_ = size;
    team.first_ = first;
    team.shift_ = shift;
    return team;
}

Team Team::headed(std::uint32_t rank, std::uint32_t head, std::uint32_t first, std::uint32_t count)
{
    Team team;
    team.kind_ = Kind::headed;
    team.index_ = rank == head ? 0 : rank - first + 1;
    team.size_ = count + 1;
    team.first_ = first;
    team.head_ = head;
    return team;
}

Team Team::of_node(const Topology& topology, std::uint32_t rank, std::uint32_t root)
{
    Team team;
    const std::uint32_t node = topology.node_of(rank);
    team.kind_ = Kind::node;
    team.topology_ = &topology;
    team.size_ = static_cast<std::uint32_t>(topology.ranks_of(node).size());
    team.first_ = node;
    team.head_ = topology.lead_of(node, root);
    if (rank != team.head_) {
        const std::uint32_t place = topology.position_of(rank) - topology.first_position(node);
        team.index_ = rank < team.head_ ? place + 1 : place;
    }
    return team;
}

Team Team::of_leads(const Topology& topology, std::uint32_t rank, std::uint32_t root)
{
    Team team;
    team.kind_ = Kind::leads;
    team.topology_ = &topology;
    team.size_ = topology.node_count();
    team.first_ = topology.node_of(root);
    team.head_ = root;
    team.index_ = (topology.node_of(rank) + team.size_ - team.first_) % team.size_;
    return team;
}

Team Team::of_piece(const Topology& topology, std::uint32_t rank, std::uint32_t piece)
{
    Team team;
    team.kind_ = Kind::piece;
    team.topology_ = &topology;
    team.size_ = topology.node_count();
    team.index_ = topology.node_of(rank);
    team.shift_ = piece;
    return team;
}

std::uint32_t Team::rank_at(std::uint32_t index) const noexcept
{
    switch (kind_) {
        case Kind::range:
            break;
        case Kind::headed:
            return index == 0 ? head_ : first_ + index - 1;
        case Kind::node: {
            const std::uint32_t head_place =
                topology_->position_of(head_) - topology_->first_position(first_);
            const std::uint32_t place = index <= head_place ? index - 1 : index;
            return index == 0 ? head_ : topology_->ranks_of(first_)[place];
        }
        case Kind::leads:
            return topology_->lead_of((first_ + index) % size_, head_);
        case Kind::piece: {
            const auto ranks = topology_->ranks_of(index);
            return ranks[shift_ % ranks.size()];
        }
    }
    const std::uint64_t place = (std::uint64_t{index} + shift_) % size_;
    return first_ + static_cast<std::uint32_t>(place);
}

TreePlace::TreePlace(const Team& team, std::uint32_t radix)
    : radix_(std::max(radix, 2U)), index_(team.index()), size_(team.size())
{
    if (index_ == 0) {
        width_ = size_;
        return;
    }
    while (index_ / width_ % radix_ == 0) {
        width_ *= radix_;
    }
    parent_ = static_cast<std::uint32_t>(index_ - index_ / width_ % radix_ * width_);
}

Graph::NodeIndex add_join(Graph& graph, std::span<const Graph::NodeIndex> nodes)
{
    if (nodes.size() <= 1) {
        return nodes.empty() ? Graph::none : nodes.front();
    }
    constexpr Extent nothing{.space = Space::scratch, .first_block = 0, .block_count = 0};
    const auto joined = graph.copy(nothing, nothing);
    for (const Graph::NodeIndex node : nodes) {
        graph.order(node, joined);
    }
    return joined;
}

Graph::NodeIndex add_tree_spread(Graph& graph, const Team& team, TreeWay way, Extent what,
                                 Graph::NodeIndex ready)
{
    const TreePlace place(team, way.radix);
    if (!place.is_top()) {
        const auto arrived = graph.receive(team.rank_at(place.parent()), way.slot, what);
        graph.order(ready, arrived);
        ready = arrived;
    }
    place.for_each_child_from_far([&](std::uint32_t child, std::uint32_t) {
        graph.order(ready, graph.send(team.rank_at(child), way.slot, what));
    });
    return ready;
}

// Combining a member's own vector with its children in ascending order gives the order of indices:
// acc = acc (op) child. A reduce node computes target = source (op) target, so each combination
// leaves its result in the child's scratch vector, which becomes the new accumulator.
Reduced add_tree_reduction(Graph& graph, const Team& team, TreeWay way, Reduced input,
                           const Extent* landing)
{
    const TreePlace place(team, way.radix);
    const std::uint32_t blocks = input.vector.block_count;
    Reduced reduced = input;
    std::uint32_t children = 0;
    place.for_each_child([&](std::uint32_t, std::uint32_t) { ++children; });
    place.for_each_child([&](std::uint32_t child, std::uint32_t) {
        const bool lands = --children == 0 && landing != nullptr;
        const Extent theirs =
            lands ? *landing : Extent{Space::scratch, graph.scratch_blocks, blocks};
        graph.scratch_blocks += lands ? 0 : blocks;
        const auto received = graph.receive(team.rank_at(child), way.slot, theirs);
        const auto combined = graph.reduce(reduced.vector, theirs);
        graph.order(received, combined);
        graph.order(reduced.combined, combined);
        reduced = {theirs, combined};
    });
    if (!place.is_top()) {
        graph.order(reduced.combined,
                    graph.send(team.rank_at(place.parent()), way.slot, reduced.vector));
    }
    return reduced;
}

// A round is sent only after all earlier ones arrived: by induction the messages of the first k
// rounds say that (ports + 1)^k members have entered. The last round alone would not do, since
// messages of different peers arrive in any order.
std::vector<Graph::NodeIndex> add_dissemination(Graph& graph, const Team& team, std::uint32_t ports,
                                                std::uint16_t first_slot,
                                                std::span<const Graph::NodeIndex> ready)
{
    constexpr Extent nothing{.space = Space::send, .first_block = 0, .block_count = 0};
    const std::uint64_t size = team.size();
    std::vector<Graph::NodeIndex> arrived(ready.begin(), ready.end());
    std::uint16_t slot = first_slot;
    for (std::uint64_t step = 1; step < size; step *= std::uint64_t{ports} + 1, ++slot) {
        const std::size_t before = arrived.size();
        for (std::uint64_t away = step; away <= ports * step && away < size; away += step) {
            const auto to = static_cast<std::uint32_t>((team.index() + away) % size);
            const auto from = static_cast<std::uint32_t>((team.index() + size - away) % size);
            const auto sent = graph.send(team.rank_at(to), slot, nothing);
            for (std::size_t i = 0; i < before; ++i) {
                graph.order(arrived[i], sent);
            }
            arrived.push_back(graph.receive(team.rank_at(from), slot, nothing));
        }
    }
    return arrived;
}

namespace {

/// Receives the peer's partial result and combines it with ours in the order of indices; with
/// `exchange`, sends ours too. The result stands in `landing`, or in scratch.
void combine_with(Graph& graph, const Team& team, std::uint32_t peer, std::uint16_t slot,
                  bool exchange, std::uint32_t pieces, Reduced& ours, const Extent* landing)
{
    const std::uint32_t blocks = ours.vector.block_count;
    const auto take_scratch = [&] {
        const std::uint32_t piece = pieces == 0 ? 0 : ours.vector.first_block % pieces;
        const Extent room{Space::scratch, graph.scratch_blocks + piece, blocks};
        graph.scratch_blocks += pieces == 0 ? blocks : pieces;
        return room;
    };
    if (exchange) {
        graph.order(ours.combined, graph.send(team.rank_at(peer), slot, ours.vector));
    }
    const bool is_ours_first = peer > team.index();
    const Extent incoming = is_ours_first && landing != nullptr ? *landing : take_scratch();
    const auto received = graph.receive(team.rank_at(peer), slot, incoming);
    if (is_ours_first) {
        // ours (op) theirs, into their vector.
        const auto reduced = graph.reduce(ours.vector, incoming);
        graph.order(received, reduced);
        graph.order(ours.combined, reduced);
        ours = {incoming, reduced};
        return;
    }
    // theirs (op) ours must not overwrite the user's input, nor bytes that still leave: it goes
    // through a copy of ours.
    const Extent own = landing != nullptr ? *landing : take_scratch();
    const auto copied = graph.copy(ours.vector, own);
    graph.order(ours.combined, copied);
    const auto reduced = graph.reduce(incoming, own);
    graph.order(received, reduced);
    graph.order(copied, reduced);
    ours = {own, reduced};
}

}  // namespace

// Core members stand for contiguous ranges: the order is kept in every combination.
Reduced add_doubling_reduction(Graph& graph, const Team& team, std::uint16_t first_slot,
                               Reduced input, Extent landing, std::uint32_t pieces)
{
    const CoreRanks cores(team.size());
    const std::uint32_t index = team.index();
    const auto slot = [&](std::uint16_t number) {
        return static_cast<std::uint16_t>(first_slot + number);
    };
    Reduced reduced = input;
    if (cores.is_spared(index)) {
        const std::uint32_t neighbor = team.rank_at(index + 1);
        const auto sent = graph.send(neighbor, slot(fold_slot), input.vector);
        graph.order(input.combined, sent);
        const auto arrived = graph.receive(neighbor, slot(unfold_slot), landing);
        graph.order(sent, arrived);
        return {landing, arrived};
    }
    if (cores.is_double(index)) {
        combine_with(graph, team, index - 1, slot(fold_slot), false, pieces, reduced, nullptr);
    }
    std::uint16_t number = first_core_slot;
    for (std::uint32_t distance = 1; distance < cores.count(); distance *= 2) {
        const bool lands = input.vector.space == Space::send && distance == cores.count() / 2;
        combine_with(graph, team, cores.partner_of(index, distance), slot(number++), true, pieces,
                     reduced, lands ? &landing : nullptr);
    }
    if (cores.is_double(index)) {
        graph.order(reduced.combined,
                    graph.send(team.rank_at(index - 1), slot(unfold_slot), reduced.vector));
    }
    return reduced;
}

}  // namespace headway::protocol::coll
