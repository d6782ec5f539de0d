// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t in_node_slot = 0;
constexpr std::uint16_t spread_slot = 1;
constexpr std::uint16_t first_round_slot = 2;

/// The blocks of a lead stand by position, node after node: in the receive space where positions
/// are ranks, else in scratch. Listed ones stand in scratch everywhere, for only there do they
/// follow each other.
class Builder {
  public:
    Builder(const Call& call, bool is_listed)
        : call_(call),
          topology_(*call.topology),
          node_(Team::of_node(topology_, call.place.rank, 0)),
          is_listed_(is_listed),
          room_(topology_.is_contiguous() && !is_listed ? Space::receive : Space::scratch)
    {
    }

    Graph build();

  private:
    Extent own() const
    {
        return call_.place.in_place ? Extent{Space::receive, call_.place.rank, 1}
                                    : Extent{.space = Space::send};
    }
    Extent all() const
    {
        return {is_listed_ ? Space::scratch : Space::receive, 0, call_.place.size};
    }
    void gather();
    void swap_with(std::uint32_t step, std::uint16_t slot);
    void exchange();
    Graph::NodeIndex deliver();
    void deliver_listed(Graph::NodeIndex arrived);
    template <typename Use>
    void for_each_part(std::uint32_t node, std::uint32_t count, const Use& use) const;

    const Call& call_;
    const Topology& topology_;
    Team node_;
    bool is_listed_;
    Space room_;
    Graph graph_;
    std::vector<Graph::NodeIndex> here_;  ///< after these all that came so far is here
};

void Builder::gather()
{
    const std::uint32_t first = topology_.first_position(topology_.node_of(call_.place.rank));
    if (room_ == Space::scratch || !call_.place.in_place) {
        here_.push_back(graph_.copy(own(), {room_, first, 1}));
    }
    for (std::uint32_t member = 1; member < node_.size(); ++member) {
        here_.push_back(
            graph_.receive(node_.rank_at(member), in_node_slot, {room_, first + member, 1}));
    }
}

/// Calls `use(part, extent)` for the blocks of `count` nodes from `node` on: two parts where they
/// wrap.
template <typename Use>
void Builder::for_each_part(std::uint32_t node, std::uint32_t count, const Use& use) const
{
    const std::uint32_t nodes = topology_.node_count();
    const auto extent = [&](std::uint32_t begin, std::uint32_t end) {
        const std::uint32_t first = topology_.first_position(begin);
        return Extent{room_, first, topology_.first_position(end) - first};
    };
    use(0, extent(node, std::min(node + count, nodes)));
    if (node + count > nodes) {
        use(1, extent(0, node + count - nodes));
    }
}

// Before a round the lead has the blocks of the `step` nodes from its own on; it gets as many of
// those that follow.
void Builder::swap_with(std::uint32_t step, std::uint16_t slot)
{
    const std::uint32_t nodes = topology_.node_count();
    const std::uint32_t node = topology_.node_of(call_.place.rank);
    const std::uint32_t count = std::min(step, nodes - step);
    const std::uint32_t below = topology_.lead_of((node + nodes - step) % nodes, 0);
    const std::uint32_t above = (node + step) % nodes;
    const std::size_t before = here_.size();
    for_each_part(node, count, [&](std::uint16_t part, Extent extent) {
        const auto sent = graph_.send(below, static_cast<std::uint16_t>(slot + part), extent);
        for (std::size_t i = 0; i < before; ++i) {
            graph_.order(here_[i], sent);
        }
    });
    for_each_part(above, count, [&](std::uint16_t part, Extent extent) {
        here_.push_back(graph_.receive(topology_.lead_of(above, 0),
                                       static_cast<std::uint16_t>(slot + part), extent));
    });
}

void Builder::exchange()
{
    here_ = {add_join(graph_, here_)};
    std::uint16_t slot = first_round_slot;
    for (std::uint32_t step = 1; step < topology_.node_count(); step *= 2) {
        swap_with(step, slot);
        slot = static_cast<std::uint16_t>(slot + 2);
    }
}

/// Puts blocks into rank order. Returns the node after which they are.
Graph::NodeIndex Builder::deliver()
{
    const auto arrived = add_join(graph_, here_);
    if (room_ == Space::receive) {
        return arrived;
    }
    std::vector<Graph::NodeIndex> placed;
    for_each_run(topology_.by_position(),
                 [&](std::uint32_t position, std::uint32_t rank, std::uint32_t count) {
                     placed.push_back(graph_.copy({Space::scratch, position, count},
                                                  {Space::receive, rank, count}));
                     graph_.order(arrived, placed.back());
                 });
    return add_join(graph_, placed);
}

/// Puts each block where the list says, once all are in scratch.
void Builder::deliver_listed(Graph::NodeIndex arrived)
{
    for (std::uint32_t position = 0; position < call_.place.size; ++position) {
        const std::uint32_t rank = topology_.by_position()[position];
        if (rank != call_.place.rank || !call_.place.in_place) {
            graph_.order(arrived,
                         graph_.copy({Space::scratch, position, 1}, {Space::receive, rank, 1}));
        }
    }
}

Graph Builder::build()
{
    constexpr TreeWay down{.slot = spread_slot};
    const bool is_lead = node_.index() == 0;
    graph_.scratch_blocks =
        is_listed_ || (is_lead && room_ == Space::scratch) ? call_.place.size : 0;
    Graph::NodeIndex ready = Graph::none;
    if (is_lead) {
        gather();
        exchange();
        ready = is_listed_ ? add_join(graph_, here_) : deliver();
    } else {
        const auto sent = graph_.send(node_.rank_at(0), in_node_slot, own());
        ready = call_.place.in_place && !is_listed_ ? sent : Graph::none;
    }
    const auto arrived = add_tree_spread(graph_, node_, down, all(), ready);
    if (is_listed_) {
        deliver_listed(arrived);
    }
    return std::move(graph_);
}

}  // namespace

Graph allgather_two_level(const Call& call)
{
    return Builder(call, false).build();
}

Graph allgatherv_two_level(const Call& call)
{
    return Builder(call, true).build();
}

}  // namespace headway::protocol::coll
