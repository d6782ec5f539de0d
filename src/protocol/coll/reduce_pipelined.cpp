// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/coll/team.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

/// Where a rank combines: the root in the result, others in what their first child sent.
class Builder {
  public:
    explicit Builder(const Call& call)
        : call_(call),
          team_(Team::all(call.place, call.root)),
          fan_(std::max(call.tuning.radix, 1U))
    {
    }

    Graph build();

  private:
    bool is_root() const { return team_.index() == 0; }
    Extent own(std::uint32_t piece) const
    {
        return {call_.place.in_place ? Space::receive : Space::send, piece, 1};
    }
    Reduced add_children(std::uint32_t piece);

    const Call& call_;
    Team team_;
    std::uint64_t fan_;
    Graph graph_;
};

/// Combines one piece of the children with the own one. Nothing to combine: the own piece.
Reduced Builder::add_children(std::uint32_t piece)
{
    Reduced ours{.vector = own(piece)};
    const std::uint64_t first = fan_ * team_.index() + 1;
    const std::uint64_t end = std::min<std::uint64_t>(first + fan_, team_.size());
    for (std::uint64_t child = first; child < end; ++child) {
        const auto vector = static_cast<std::uint32_t>(child - first);
        const bool lands_in_result = is_root() && vector == 0 && !call_.place.in_place;
        Extent theirs{Space::receive, piece, 1};
        if (!lands_in_result) {
            theirs = {Space::scratch, vector * graph_.block_count + piece, 1};
            graph_.scratch_blocks =
                std::max(graph_.scratch_blocks, (vector + 1) * graph_.block_count);
        }
        const auto received = graph_.receive(team_.rank_at(static_cast<std::uint32_t>(child)),
                                             static_cast<std::uint16_t>(piece), theirs);
        // The input is never written: it is combined into what arrives first.
        const bool is_ours_input = ours.vector.space == Space::send;
        const auto combined =
            is_ours_input ? graph_.reduce(ours.vector, theirs) : graph_.reduce(theirs, ours.vector);
        graph_.order(received, combined);
        graph_.order(ours.combined, combined);
        ours = {is_ours_input ? theirs : ours.vector, combined};
    }
    return ours;
}

// Virtual ranks count from the root; the children of v are radix * v + 1 and on.
Graph Builder::build()
{
    graph_.blocks = engine::Blocks::split;
    graph_.block_count = std::max(call_.tuning.segments, 1U);
    for (std::uint32_t piece = 0; piece < graph_.block_count; ++piece) {
        const Reduced ours = add_children(piece);
        if (!is_root()) {
            const auto parent = static_cast<std::uint32_t>((team_.index() - 1) / fan_);
            graph_.order(
                ours.combined,
                graph_.send(team_.rank_at(parent), static_cast<std::uint16_t>(piece), ours.vector));
        } else if (ours.vector.space == Space::send) {
            graph_.copy(ours.vector, {Space::receive, piece, 1});
        }
    }
    return std::move(graph_);
}

}  // namespace

Graph reduce_pipelined(const Call& call)
{
    return Builder(call).build();
}

}  // namespace headway::protocol::coll
