// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "protocol/coll/core_ranks.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

/// Builds one rank's part; `accumulator` is where the partial result stands after each step.
class Builder {
  public:
    Builder(Place place) : place_(place) {}

    Graph build();

  private:
    void combine_with(std::uint32_t peer, std::uint16_t slot, bool exchange);

    Place place_;
    CoreRanks cores_{place_.size};
    Graph graph_;
    Extent accumulator_{};
    Graph::NodeIndex ready_ = Graph::none;  ///< the node that produced the accumulator
    std::uint32_t vectors_ = 0;
};

/// Receives the peer's partial result and combines in rank order; with `exchange`, sends ours too.
void Builder::combine_with(std::uint32_t peer, std::uint16_t slot, bool exchange)
{
    Graph::NodeIndex sent = Graph::none;
    if (exchange) {
        sent = graph_.send(peer, slot, accumulator_);
        graph_.order(ready_, sent);
    }
    const Extent incoming{Space::scratch, vectors_++, 1};
    const auto received = graph_.receive(peer, slot, incoming);
    if (peer > place_.rank) {
        // ours (op) theirs, into their vector.
        const auto reduced = graph_.reduce(accumulator_, incoming);
        graph_.order(received, reduced);
        graph_.order(ready_, reduced);
        accumulator_ = incoming;
        ready_ = reduced;
        return;
    }
    // theirs (op) ours must not overwrite the user's input, nor bytes that still leave: it goes
    // through a copy of ours.
    const Extent own{Space::scratch, vectors_++, 1};
    const auto copied = graph_.copy(accumulator_, own);
    graph_.order(ready_, copied);
    const auto reduced = graph_.reduce(incoming, own);
    graph_.order(received, reduced);
    graph_.order(copied, reduced);
    accumulator_ = own;
    ready_ = reduced;
}

// Core ranks stand for contiguous ranges: rank order is kept in every combination.
Graph Builder::build()
{
    const std::uint32_t rank = place_.rank;
    accumulator_ = Extent{.space = place_.in_place ? Space::receive : Space::send};
    const Extent result{.space = Space::receive};
    if (cores_.is_spared(rank)) {
        add_spared(graph_, rank, accumulator_, result);
        return std::move(graph_);
    }
    if (cores_.is_double(rank)) {
        combine_with(rank - 1, fold_slot, false);
    }
    std::uint16_t slot = first_core_slot;
    for (std::uint32_t distance = 1; distance < cores_.count(); distance *= 2) {
        combine_with(cores_.partner_of(rank, distance), slot++, true);
    }
    if (cores_.is_double(rank)) {
        graph_.order(ready_, graph_.send(rank - 1, unfold_slot, accumulator_));
    }
    if (accumulator_.space != Space::receive) {
        const auto last = graph_.copy(accumulator_, result);
        for (Graph::NodeIndex node = 0; place_.in_place && node < last; ++node) {
            graph_.order(node, last);
        }
        graph_.order(ready_, last);
    }
    graph_.scratch_blocks = vectors_;
    return std::move(graph_);
}

}  // namespace

Graph allreduce_recursive_doubling(Place place)
{
    return Builder(place).build();
}

}  // namespace headway::protocol::coll
