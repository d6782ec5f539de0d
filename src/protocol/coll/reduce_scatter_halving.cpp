// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t fold_slot = 0;
constexpr std::uint16_t unfold_slot = 1;
constexpr std::uint16_t first_halving_slot = 2;

/// Ranks 2i and 2i + 1 fold for i < surplus: the odd one works for both. The blocks of consecutive
/// core ranks follow each other, so that half of the cores is one extent.
class Builder {
  public:
    explicit Builder(Place place) : place_(place) {}

    Graph build();

  private:
    void halve(std::uint32_t core);
    void deliver();
    std::uint32_t real(std::uint32_t core) const
    {
        return core < surplus_ ? 2 * core + 1 : core + surplus_;
    }
    std::uint32_t first_block(std::uint32_t core) const
    {
        return core < surplus_ ? 2 * core : core + surplus_;
    }
    /// The blocks of `count` cores. Scratch vector 0 holds the partial result, 1 what arrives.
    Extent blocks(Space space, std::uint32_t vector, std::uint32_t core, std::uint32_t count) const
    {
        const std::uint32_t first = first_block(core);
        return {space, vector * place_.size + first, first_block(core + count) - first};
    }

    Place place_;
    std::uint32_t core_size_ = power_of_two_below(place_.size);
    std::uint32_t surplus_ = place_.size - core_size_;
    Graph graph_;
    Space partial_ = Space::send;  ///< where the partial result stands
    Graph::NodeIndex ready_ = Graph::none;
};

// The half that the partner's side keeps leaves, the half that this side keeps arrives and is
// combined. The first time, the input is combined into what arrived: the input is never written.
void Builder::halve(std::uint32_t core)
{
    std::uint32_t first = 0;
    std::uint16_t slot = first_halving_slot;
    for (std::uint32_t half = core_size_ / 2; half != 0; half /= 2, ++slot) {
        const bool upper = (core & half) != 0;
        const std::uint32_t keep = upper ? first + half : first;
        const std::uint32_t give = upper ? first : first + half;
        const std::uint32_t partner = real(core ^ half);
        graph_.order(ready_, graph_.send(partner, slot, blocks(partial_, 0, give, half)));
        const bool is_first = partial_ == Space::send;
        const Extent incoming = blocks(Space::scratch, is_first ? 0 : 1, keep, half);
        const auto received = graph_.receive(partner, slot, incoming);
        graph_.order(ready_, received);
        const Extent kept = blocks(partial_, 0, keep, half);
        const auto reduced =
            is_first ? graph_.reduce(kept, incoming) : graph_.reduce(incoming, kept);
        graph_.order(received, reduced);
        graph_.order(ready_, reduced);
        partial_ = Space::scratch;
        ready_ = reduced;
        first = keep;
    }
}

/// Hands out the own block, and that of the rank that folded in here. In place this overwrites the
/// input, so everything that reads it comes before.
void Builder::deliver()
{
    const std::uint32_t rank = place_.rank;
    const auto nodes_before = static_cast<Graph::NodeIndex>(graph_.nodes().size());
    if (rank < 2 * surplus_) {
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
    const bool folded = rank < 2 * surplus_;
    const Extent whole{Space::send, 0, place_.size};
    if (folded && rank % 2 == 0) {
        const auto sent = graph_.send(rank + 1, fold_slot, whole);
        graph_.order(sent, graph_.receive(rank + 1, unfold_slot, {.space = Space::receive}));
        return std::move(graph_);
    }
    graph_.scratch_blocks = place_.size > 1 ? 2 * place_.size : 0;
    if (folded) {
        const Extent incoming{Space::scratch, 0, place_.size};
        const auto received = graph_.receive(rank - 1, fold_slot, incoming);
        ready_ = graph_.reduce(whole, incoming);
        graph_.order(received, ready_);
        partial_ = Space::scratch;
    }
    halve(folded ? rank / 2 : rank - surplus_);
    deliver();
    return std::move(graph_);
}

}  // namespace

Graph reduce_scatter_halving(Place place)
{
    return Builder(place).build();
}

}  // namespace headway::protocol::coll
