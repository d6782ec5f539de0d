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
constexpr std::uint16_t first_doubling_slot = 64;

class Builder {
  public:
    explicit Builder(Place place) : place_(place) {}

    Graph build();

  private:
    void halve(std::uint32_t core);
    void double_up(std::uint32_t core);
    std::uint32_t real(std::uint32_t core) const
    {
        return core < surplus_ ? 2 * core + 1 : core + surplus_;
    }
    static Extent pieces(Space space, std::uint32_t first, std::uint32_t count)
    {
        return {space, first, count};
    }
    Extent whole(Space space) const { return {space, 0, core_size_}; }

    Place place_;
    std::uint32_t core_size_ = power_of_two_below(place_.size);
    std::uint32_t surplus_ = place_.size - core_size_;
    Graph graph_;
    Graph::NodeIndex ready_ = Graph::none;
};

// The partial result stands in the receive space. In each round the half that the partner's side
// keeps leaves, the half that this side keeps arrives in scratch and is combined.
void Builder::halve(std::uint32_t core)
{
    std::uint32_t first = 0;
    std::uint16_t slot = first_halving_slot;
    for (std::uint32_t half = core_size_ / 2; half != 0; half /= 2, ++slot) {
        const bool upper = (core & half) != 0;
        const std::uint32_t keep = upper ? first + half : first;
        const std::uint32_t give = upper ? first : first + half;
        const std::uint32_t partner = real(core ^ half);
        const auto sent = graph_.send(partner, slot, pieces(Space::receive, give, half));
        graph_.order(ready_, sent);
        const auto received = graph_.receive(partner, slot, pieces(Space::scratch, keep, half));
        // Scratch of the last round has the same place: it must have been combined.
        graph_.order(ready_, received);
        const auto reduced =
            graph_.reduce(pieces(Space::scratch, keep, half), pieces(Space::receive, keep, half));
        graph_.order(received, reduced);
        graph_.order(ready_, reduced);
        ready_ = reduced;
        first = keep;
    }
}

void Builder::double_up(std::uint32_t core)
{
    // What left while halving comes back in the doubling: the send must be over before.
    const auto nodes_before = static_cast<Graph::NodeIndex>(graph_.nodes().size());
    std::uint16_t slot = first_doubling_slot;
    for (std::uint32_t width = 1; width < core_size_; width *= 2, ++slot) {
        const std::uint32_t own = core & ~(width - 1);
        const std::uint32_t theirs = own ^ width;
        const std::uint32_t partner = real(core ^ width);
        const auto sent = graph_.send(partner, slot, pieces(Space::receive, own, width));
        graph_.order(ready_, sent);
        const auto received = graph_.receive(partner, slot, pieces(Space::receive, theirs, width));
        graph_.order(ready_, received);
        for (Graph::NodeIndex node = 0; width == 1 && node < nodes_before; ++node) {
            graph_.order(node, received);
        }
        ready_ = received;
    }
}

Graph Builder::build()
{
    graph_.blocks = engine::Blocks::split;
    graph_.block_count = core_size_;
    const std::uint32_t rank = place_.rank;
    const bool folded = rank < 2 * surplus_;
    const Space input = place_.in_place ? Space::receive : Space::send;
    if (folded && rank % 2 == 0) {
        const auto sent = graph_.send(rank + 1, fold_slot, whole(input));
        graph_.order(sent, graph_.receive(rank + 1, unfold_slot, whole(Space::receive)));
        return std::move(graph_);
    }
    graph_.scratch_blocks = core_size_;
    if (!place_.in_place) {
        ready_ = graph_.copy(whole(Space::send), whole(Space::receive));
    }
    if (folded) {
        const auto received = graph_.receive(rank - 1, fold_slot, whole(Space::scratch));
        const auto reduced = graph_.reduce(whole(Space::scratch), whole(Space::receive));
        graph_.order(received, reduced);
        graph_.order(ready_, reduced);
        ready_ = reduced;
    }
    const std::uint32_t core = folded ? rank / 2 : rank - surplus_;
    halve(core);
    double_up(core);
    if (folded) {
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
