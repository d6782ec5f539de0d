// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

/// Slots of one piece among its leads.
constexpr std::uint32_t lead_slots = 36;

/// The vector has a piece for each rank of the largest node; in each node the ranks take turns as
/// the leads of pieces. Whom a member sends to, and from whom a lead takes, goes around the node,
/// so that no rank is everybody's first.
class Builder {
  public:
    explicit Builder(const Call& call)
        : in_place_(call.place.in_place),
          topology_(*call.topology),
          rank_(call.place.rank),
          ranks_(topology_.ranks_of(topology_.node_of(rank_))),
          members_(static_cast<std::uint32_t>(ranks_.size())),
          member_(topology_.position_of(rank_) -
                  topology_.first_position(topology_.node_of(rank_))),
          pieces_(many_leads_pieces(topology_)),
          sent_(pieces_, Graph::none)
    {
    }

    Graph build();

  private:
    Extent input(std::uint32_t piece) const
    {
        return {in_place_ ? Space::receive : Space::send, piece, 1};
    }
    std::uint16_t combine_slot(std::uint32_t piece) const
    {
        return static_cast<std::uint16_t>(piece);
    }
    std::uint16_t result_slot(std::uint32_t piece) const
    {
        return static_cast<std::uint16_t>(pieces_ + piece);
    }
    template <typename Use>
    void for_each_piece_of_others(const Use& use) const;
    Reduced combine_in_node(std::uint32_t piece, std::uint32_t rooms);
    void finish(std::uint32_t piece, Reduced reduced, Graph::NodeIndex first);
    void lead_pieces();

    bool in_place_;
    const Topology& topology_;
    std::uint32_t rank_;
    std::span<const std::uint32_t> ranks_;
    std::uint32_t members_;
    std::uint32_t member_;
    std::uint32_t pieces_;
    Graph graph_;
    std::vector<Graph::NodeIndex> sent_;  ///< by piece: the contribution has left
};

/// Calls `use(piece, its lead in this node)`.
template <typename Use>
void Builder::for_each_piece_of_others(const Use& use) const
{
    for (std::uint32_t step = 1; step < members_; ++step) {
        const std::uint32_t lead = (member_ + members_ - step) % members_;
        for (std::uint32_t piece = lead; piece < pieces_; piece += members_) {
            use(piece, ranks_[lead]);
        }
    }
}

/// What arrives is combined where it arrived, in rooms that take turns: the input is not written.
Reduced Builder::combine_in_node(std::uint32_t piece, std::uint32_t rooms)
{
    std::vector<Graph::NodeIndex> read(rooms, Graph::none);  ///< by room, for the last time
    Reduced reduced{input(piece)};
    for (std::uint32_t step = 1; step < members_; ++step) {
        const std::uint32_t room = (step - 1) % rooms;
        const Extent incoming{Space::scratch, room * pieces_ + piece, 1};
        const auto received =
            graph_.receive(ranks_[(member_ + step) % members_], combine_slot(piece), incoming);
        graph_.order(read[room], received);
        const auto combined = graph_.reduce(reduced.vector, incoming);
        graph_.order(received, combined);
        graph_.order(reduced.combined, combined);
        read[(room + rooms - 1) % rooms] = combined;
        reduced = {incoming, combined};
    }
    return reduced;
}

/// Puts the result of a piece, which nodes from `first` on have made, into its place and sends it
/// to the node.
void Builder::finish(std::uint32_t piece, Reduced reduced, Graph::NodeIndex first)
{
    const auto end = static_cast<Graph::NodeIndex>(graph_.nodes().size());
    for (std::uint32_t step = 1; step < members_; ++step) {
        graph_.order(reduced.combined, graph_.send(ranks_[(member_ + step) % members_],
                                                   result_slot(piece), reduced.vector));
    }
    if (reduced.vector.space == Space::receive) {
        return;
    }
    const auto last = graph_.copy(reduced.vector, {Space::receive, piece, 1});
    graph_.order(reduced.combined, last);
    for (Graph::NodeIndex node = first; in_place_ && node < end; ++node) {
        graph_.order(node, last);
    }
}

void Builder::lead_pieces()
{
    constexpr std::uint32_t rooms_max = 4;
    const std::uint32_t rooms = std::min(rooms_max, members_ - 1);
    std::uint32_t scratch_blocks = 0;
    for (std::uint32_t piece = member_; piece < pieces_; piece += members_) {
        const auto first = static_cast<Graph::NodeIndex>(graph_.nodes().size());
        // Pieces touch blocks of their own, of the same vectors.
        graph_.scratch_blocks = rooms * pieces_;
        const Reduced in_node = combine_in_node(piece, rooms);
        const auto first_slot = static_cast<std::uint16_t>(2 * pieces_ + piece * lead_slots);
        finish(piece,
               add_doubling_reduction(graph_, Team::of_piece(topology_, rank_, piece), first_slot,
                                      in_node, {Space::receive, piece, 1}, pieces_),
               first);
        scratch_blocks = std::max(scratch_blocks, graph_.scratch_blocks);
    }
    graph_.scratch_blocks = scratch_blocks;
}

// In place a result overwrites the contribution, which must have left.
Graph Builder::build()
{
    graph_.blocks = engine::Blocks::split;
    graph_.block_count = pieces_;
    for_each_piece_of_others([&](std::uint32_t piece, std::uint32_t lead) {
        sent_[piece] = graph_.send(lead, combine_slot(piece), input(piece));
    });
    lead_pieces();
    for_each_piece_of_others([&](std::uint32_t piece, std::uint32_t lead) {
        const auto received = graph_.receive(lead, result_slot(piece), {Space::receive, piece, 1});
        graph_.order(in_place_ ? sent_[piece] : Graph::none, received);
    });
    return std::move(graph_);
}

}  // namespace

std::uint32_t many_leads_pieces(const Topology& topology) noexcept
{
    constexpr std::uint32_t pieces_max = 1024;  // a slot has 16 bits
    return std::min(topology.largest_node(), pieces_max);
}

Graph allreduce_many_leads(const Call& call)
{
    return Builder(call).build();
}

}  // namespace headway::protocol::coll
