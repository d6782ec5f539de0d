// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "protocol/coll/core_ranks.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t first_doubling_slot = 64;

class Builder {
  public:
    explicit Builder(Place place) : place_(place) {}

    Graph build();

  private:
    void add_neighbor();
    void combine_input(const HalvingRound& round);
    void halve();
    void double_up();
    static Extent pieces(Space space, std::uint32_t first, std::uint32_t count)
    {
        return {space, first, count};
    }
    Extent whole(Space space) const { return {space, 0, cores_.count()}; }

    Place place_;
    CoreRanks cores_{place_.size};
    Graph graph_;
    Graph::NodeIndex ready_ = Graph::none;
    bool combines_input_ = false;  ///< the result space has nothing yet
};

// The input is combined into what arrives first, so that it is never copied.
void Builder::combine_input(const HalvingRound& round)
{
    const Extent kept = pieces(Space::receive, round.keep, round.count);
    graph_.send(round.partner, round.slot, pieces(Space::send, round.give, round.count));
    const auto received = graph_.receive(round.partner, round.slot, kept);
    ready_ = graph_.reduce(pieces(Space::send, round.keep, round.count), kept);
    graph_.order(received, ready_);
}

// The partial result stands in the receive space, what arrives in scratch.
void Builder::halve()
{
    bool is_input = combines_input_;
    for_each_halving(cores_, place_.rank, [this, &is_input](const HalvingRound& round) {
        if (std::exchange(is_input, false)) {
            combine_input(round);
            return;
        }
        const Extent incoming = pieces(Space::scratch, round.keep, round.count);
        graph_.scratch_blocks = cores_.count();
        ready_ = add_halving(graph_, round,
                             {.outgoing = pieces(Space::receive, round.give, round.count),
                              .incoming = incoming,
                              .source = incoming,
                              .target = pieces(Space::receive, round.keep, round.count)},
                             ready_);
    });
}

void Builder::double_up()
{
    // What left the result while halving comes back in the doubling: the send must be over before.
    const auto nodes_before = static_cast<Graph::NodeIndex>(graph_.nodes().size());
    const std::uint32_t core = cores_.core_of(place_.rank);
    std::uint16_t slot = first_doubling_slot;
    for (std::uint32_t width = 1; width < cores_.count(); width *= 2, ++slot) {
        const std::uint32_t own = core & ~(width - 1);
        const std::uint32_t theirs = own ^ width;
        const std::uint32_t partner = cores_.partner_of(place_.rank, width);
        const auto sent = graph_.send(partner, slot, pieces(Space::receive, own, width));
        graph_.order(ready_, sent);
        const auto received = graph_.receive(partner, slot, pieces(Space::receive, theirs, width));
        graph_.order(ready_, received);
        for (Graph::NodeIndex node = 0; width == 1 && node < nodes_before; ++node) {
            const engine::GraphNode& earlier = graph_.nodes()[node];
            if (earlier.kind == engine::NodeKind::send && earlier.source.space == Space::receive) {
                graph_.order(node, received);
            }
        }
        ready_ = received;
    }
}

/// A double's input is combined with its neighbour's before all else.
void Builder::add_neighbor()
{
    const Extent landing = whole(combines_input_ ? Space::receive : Space::scratch);
    const Extent source = whole(combines_input_ ? Space::send : Space::scratch);
    const auto received = graph_.receive(place_.rank - 1, fold_slot, landing);
    ready_ = graph_.reduce(source, whole(Space::receive));
    graph_.order(received, ready_);
    combines_input_ = false;
    graph_.scratch_blocks = cores_.count();
}

Graph Builder::build()
{
    graph_.blocks = engine::Blocks::split;
    graph_.block_count = cores_.count();
    const std::uint32_t rank = place_.rank;
    if (cores_.is_spared(rank)) {
        add_spared(graph_, rank, whole(place_.in_place ? Space::receive : Space::send),
                   whole(Space::receive));
        return std::move(graph_);
    }
    if (cores_.count() == 1) {
        if (!place_.in_place) {
            graph_.copy(whole(Space::send), whole(Space::receive));
        }
        return std::move(graph_);
    }
    combines_input_ = !place_.in_place;
    if (cores_.is_double(rank)) {
        add_neighbor();
    }
    halve();
    double_up();
    if (cores_.is_double(rank)) {
        graph_.order(ready_, graph_.send(rank - 1, unfold_slot, whole(Space::receive)));
    }
    return std::move(graph_);
}

}  // namespace

Graph allreduce_halving_doubling(Place place)
{
    return Builder(place).build();
}

}  // namespace headway::protocol::coll
