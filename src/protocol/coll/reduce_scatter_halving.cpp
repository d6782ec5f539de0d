// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "protocol/coll/core_ranks.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

/// The blocks of consecutive core ranks follow each other, so that half of the cores is one extent.
class Builder {
  public:
    explicit Builder(Place place) : place_(place) {}

    Graph build();

  private:
    void halve();
    void deliver();
    /// The blocks of `count` cores. Scratch vector 0 holds the partial result, 1 what arrives.
    Extent blocks(Space space, std::uint32_t vector, std::uint32_t core, std::uint32_t count) const
    {
        const std::uint32_t first = cores_.first_rank_of(core);
        return {space, vector * place_.size + first, cores_.first_rank_of(core + count) - first};
    }

    Place place_;
    CoreRanks cores_{place_.size};
    Graph graph_;
    Space partial_ = Space::send;  ///< where the partial result stands
    Graph::NodeIndex ready_ = Graph::none;
};

// The first time, the input is combined into what arrived: the input is never written.
void Builder::halve()
{
    for_each_halving(cores_, place_.rank, [this](const HalvingRound& round) {
        const bool is_first = partial_ == Space::send;
        const Extent kept = blocks(partial_, 0, round.keep, round.count);
        const Extent incoming = blocks(Space::scratch, is_first ? 0 : 1, round.keep, round.count);
        ready_ = add_halving(graph_, round,
                             {.outgoing = blocks(partial_, 0, round.give, round.count),
                              .incoming = incoming,
                              .source = is_first ? kept : incoming,
                              .target = is_first ? incoming : kept},
                             ready_);
        partial_ = Space::scratch;
    });
}

/// Hands out the own block, and that of the rank that folded in here. In place this overwrites the
/// input, so everything that reads it comes before.
void Builder::deliver()
{
    const std::uint32_t rank = place_.rank;
    const auto nodes_before = static_cast<Graph::NodeIndex>(graph_.nodes().size());
    if (cores_.is_double(rank)) {
        graph_.order(ready_, graph_.send(rank - 1, unfold_slot, {partial_, rank - 1, 1}));
    }
    if (place_.size == 1 && place_.in_place) {
        return;
    }
    const auto delivered = graph_.copy({partial_, rank, 1}, {.space = Space::receive});
    graph_.order(ready_, delivered);
    for (Graph::NodeIndex node = 0; place_.in_place && node < nodes_before; ++node) {
        graph_.order(node, delivered);
    }
}

Graph Builder::build()
{
    const std::uint32_t rank = place_.rank;
    const Extent whole{Space::send, 0, place_.size};
    if (cores_.is_spared(rank)) {
        add_spared(graph_, rank, whole, {.space = Space::receive});
        return std::move(graph_);
    }
    graph_.scratch_blocks = place_.size > 1 ? 2 * place_.size : 0;
    if (cores_.is_double(rank)) {
        const Extent incoming{Space::scratch, 0, place_.size};
        const auto received = graph_.receive(rank - 1, fold_slot, incoming);
        ready_ = graph_.reduce(whole, incoming);
        graph_.order(received, ready_);
        partial_ = Space::scratch;
    }
    halve();
    deliver();
    return std::move(graph_);
}

}  // namespace

Graph reduce_scatter_halving(Place place)
{
    return Builder(place).build();
}

}  // namespace headway::protocol::coll
