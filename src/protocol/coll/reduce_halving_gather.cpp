// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "protocol/coll/core_ranks.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t first_gather_slot = 64;

/// The root's partial result stands in the receive space, that of others in the first vector of
/// scratch; what arrives in the second. A spared root has its core neighbour do all and hand over
/// the result.
class Builder {
  public:
    Builder(Place place, std::uint32_t root) : place_(place), root_(root) {}

    Graph build();

  private:
    void fold_in();
    void halve();
    void gather();
    Extent whole(Space space) const { return {space, 0, cores_.count()}; }
    /// Pieces of the vector where the partial result is to stand, or arrive until then.
    Extent home(std::uint32_t first, std::uint32_t count) const { return {home_, first, count}; }
    Extent arrival(std::uint32_t first, std::uint32_t count) const
    {
        return {Space::scratch, cores_.count() + first, count};
    }

    Place place_;
    std::uint32_t root_;
    CoreRanks cores_{place_.size};
    Graph graph_;
    Space home_ = Space::scratch;
    Space partial_ = Space::send;
    Graph::NodeIndex ready_ = Graph::none;
};

void Builder::fold_in()
{
    if (!cores_.is_double(place_.rank)) {
        return;
    }
    const bool is_first = partial_ == Space::send;
    const Extent incoming = is_first ? home(0, cores_.count()) : arrival(0, cores_.count());
    const auto received = graph_.receive(place_.rank - 1, fold_slot, incoming);
    ready_ = is_first ? graph_.reduce(whole(partial_), incoming)
                      : graph_.reduce(incoming, whole(partial_));
    graph_.order(received, ready_);
    partial_ = home_;
}

// The first time, the input is combined into what arrived: the input is never written.
void Builder::halve()
{
    for_each_halving(cores_, place_.rank, [this](const HalvingRound& round) {
        const bool is_first = partial_ == Space::send;
        const Extent kept{partial_, round.keep, round.count};
        const Extent incoming =
            is_first ? home(round.keep, round.count) : arrival(round.keep, round.count);
        ready_ = add_halving(graph_, round,
                             {.outgoing = {partial_, round.give, round.count},
                              .incoming = incoming,
                              .source = is_first ? kept : incoming,
                              .target = is_first ? incoming : kept},
                             ready_);
        partial_ = home_;
    });
}

/// Binomial over cores: those whose number differs from the root's in a bit send what they have to
/// the one without that difference, lowest bit first.
void Builder::gather()
{
    // What left while halving comes back: those sends must be over before.
    const auto nodes_before = static_cast<Graph::NodeIndex>(graph_.nodes().size());
    const std::uint32_t core = cores_.core_of(place_.rank);
    const std::uint32_t root_core = cores_.core_of(cores_.is_spared(root_) ? root_ + 1 : root_);
    const std::uint32_t apart = core ^ root_core;
    std::uint16_t slot = first_gather_slot;
    std::vector<Graph::NodeIndex> here{ready_};
    for (std::uint32_t width = 1; width < cores_.count(); width *= 2, ++slot) {
        const std::uint32_t partner = cores_.partner_of(place_.rank, width);
        const std::uint32_t own = core & ~(width - 1);
        if ((apart & width) != 0) {
            const auto sent = graph_.send(partner, slot, {partial_, own, width});
            for (const Graph::NodeIndex node : here) {
                graph_.order(node, sent);
            }
            return;
        }
        const auto received = graph_.receive(partner, slot, {partial_, own ^ width, width});
        for (Graph::NodeIndex node = 0; node < nodes_before; ++node) {
            graph_.order(node, received);
        }
        here.push_back(received);
    }
    if (cores_.is_spared(root_)) {
        const auto sent = graph_.send(root_, unfold_slot, whole(partial_));
        for (const Graph::NodeIndex node : here) {
            graph_.order(node, sent);
        }
    }
}

Graph Builder::build()
{
    graph_.blocks = engine::Blocks::split;
    graph_.block_count = cores_.count();
    const std::uint32_t rank = place_.rank;
    partial_ = place_.in_place ? Space::receive : Space::send;
    home_ = rank == root_ ? Space::receive : Space::scratch;
    if (cores_.is_spared(rank)) {
        const auto sent = graph_.send(rank + 1, fold_slot, whole(partial_));
        if (rank == root_) {
            graph_.order(sent, graph_.receive(rank + 1, unfold_slot, whole(Space::receive)));
        }
        return std::move(graph_);
    }
    if (place_.size == 1) {
        if (!place_.in_place) {
            graph_.copy(whole(Space::send), whole(Space::receive));
        }
        return std::move(graph_);
    }
    graph_.scratch_blocks = 2 * cores_.count();
    fold_in();
    halve();
    gather();
    return std::move(graph_);
}

}  // namespace

Graph reduce_halving_gather(Place place, std::uint32_t root)
{
    return Builder(place, root).build();
}

}  // namespace headway::protocol::coll
