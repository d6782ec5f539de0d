// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t fold_slot = 0;
constexpr std::uint16_t unfold_slot = 1;
constexpr std::uint16_t first_round_slot = 2;

/// Builds one rank's part; `accumulator` is where the partial result stands after each step.
class Builder {
  public:
    Builder(Place place) : place_(place) {}

    Graph build();

  private:
    void combine_with(std::uint32_t peer, std::uint16_t slot, bool exchange);
    std::uint32_t core_to_real(std::uint32_t core) const
    {
        return core < surplus_ ? 2 * core + 1 : core + surplus_;
    }

    Place place_;
    std::uint32_t core_size_ = power_of_two_below(place_.size);
    std::uint32_t surplus_ = place_.size - core_size_;
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

// Ranks 2i and 2i + 1 fold for i < surplus, so that the core ranks stand for contiguous ranges of
// ranks in ascending order: rank order is kept in every combination.
Graph Builder::build()
{
    const std::uint32_t rank = place_.rank;
    accumulator_ = Extent{.space = place_.in_place ? Space::receive : Space::send};
    const Extent result{.space = Space::receive};
    const bool folded = rank < 2 * surplus_;
    if (folded && rank % 2 == 0) {
        const auto sent = graph_.send(rank + 1, fold_slot, accumulator_);
        // In place, the result may arrive only after the contribution has left.
        graph_.order(sent, graph_.receive(rank + 1, unfold_slot, result));
        return std::move(graph_);
    }
    if (folded) {
        combine_with(rank - 1, fold_slot, false);
    }
    const std::uint32_t core = folded ? rank / 2 : rank - surplus_;
    std::uint16_t slot = first_round_slot;
    for (std::uint32_t distance = 1; distance < core_size_; distance *= 2) {
        combine_with(core_to_real(core ^ distance), slot++, true);
    }
    if (folded) {
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
