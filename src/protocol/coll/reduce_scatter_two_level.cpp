// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t in_node_slot = 0;
constexpr std::uint16_t hand_out_slot = 1;
constexpr std::uint16_t first_across_slot = 2;
constexpr Extent result{.space = Space::receive};

/// A lead's scratch begins with a row for each node: what that has of the blocks of this node's
/// ranks, in the order of these. Behind it are whole vectors, one for each child in the node.
class Builder {
  public:
    explicit Builder(const Call& call)
        : call_(call),
          topology_(*call.topology),
          node_(topology_.node_of(call.place.rank)),
          ranks_(topology_.ranks_of(node_)),
          team_(Team::of_node(topology_, call.place.rank, 0))
    {
    }

    Graph build();

  private:
    std::uint32_t members() const { return static_cast<std::uint32_t>(ranks_.size()); }
    Extent in_row(std::uint32_t node, std::uint32_t member, std::uint32_t count) const
    {
        return {Space::scratch, node * members() + member, count};
    }
    Extent in_vector(std::uint32_t rank, std::uint32_t count) const
    {
        return {reduced_.vector.space, reduced_.vector.first_block + rank, count};
    }
    void send_across();
    void take_own();
    void take_from(std::uint32_t node);
    void combine();
    void hand_out();

    const Call& call_;
    const Topology& topology_;
    std::uint32_t node_;
    std::span<const std::uint32_t> ranks_;
    Team team_;
    Graph graph_;
    Reduced reduced_;                                  ///< the vectors of the node's ranks
    std::vector<std::vector<Graph::NodeIndex>> here_;  ///< by node: after these its row is there
    Graph::NodeIndex combined_ = Graph::none;  ///< after it the last row is that of all nodes
};

// A message for each run of the other node's ranks: where blocks are listed, none can be put in
// another order in a vector.
void Builder::send_across()
{
    const std::uint32_t nodes = topology_.node_count();
    for (std::uint32_t step = 1; step < nodes; ++step) {
        const std::uint32_t other = (node_ + step) % nodes;
        std::uint16_t slot = first_across_slot;
        for_each_run(
            topology_.ranks_of(other), [&](std::uint32_t, std::uint32_t rank, std::uint32_t count) {
                const auto sent =
                    graph_.send(topology_.lead_of(other, 0), slot++, in_vector(rank, count));
                graph_.order(reduced_.combined, sent);
            });
    }
}

void Builder::take_own()
{
    for_each_run(ranks_, [&](std::uint32_t member, std::uint32_t rank, std::uint32_t count) {
        const auto copied = graph_.copy(in_vector(rank, count), in_row(node_, member, count));
        graph_.order(reduced_.combined, copied);
        here_[node_].push_back(copied);
    });
}

void Builder::take_from(std::uint32_t node)
{
    std::uint16_t slot = first_across_slot;
    for_each_run(ranks_, [&](std::uint32_t member, std::uint32_t, std::uint32_t count) {
        here_[node].push_back(
            graph_.receive(topology_.lead_of(node, 0), slot++, in_row(node, member, count)));
    });
}

/// Each row into the next.
void Builder::combine()
{
    combined_ = add_join(graph_, here_[0]);
    for (std::uint32_t node = 1; node < topology_.node_count(); ++node) {
        const auto arrived = add_join(graph_, here_[node]);
        const auto reduced =
            graph_.reduce(in_row(node - 1, 0, members()), in_row(node, 0, members()));
        graph_.order(arrived, reduced);
        graph_.order(combined_, reduced);
        combined_ = reduced;
    }
}

// In place the result overwrites the input, so it comes after everything else.
void Builder::hand_out()
{
    const std::uint32_t last = topology_.node_count() - 1;
    for (std::uint32_t member = 0; member < members(); ++member) {
        if (ranks_[member] != call_.place.rank) {
            graph_.order(combined_,
                         graph_.send(ranks_[member], hand_out_slot, in_row(last, member, 1)));
        }
    }
    const auto nodes_before = static_cast<Graph::NodeIndex>(graph_.nodes().size());
    const auto delivered = graph_.copy(in_row(last, 0, 1), result);
    graph_.order(combined_, delivered);
    for (Graph::NodeIndex node = 0; call_.place.in_place && node < nodes_before; ++node) {
        graph_.order(node, delivered);
    }
}

Graph Builder::build()
{
    const std::uint32_t size = call_.place.size;
    const std::uint32_t nodes = topology_.node_count();
    if (size == 1 && call_.place.in_place) {
        return {};
    }
    graph_.scratch_blocks = team_.index() == 0 ? nodes * members() : 0;
    reduced_ = add_tree_reduction(graph_, team_, {.slot = in_node_slot},
                                  {.vector = {Space::send, 0, size}});
    if (team_.index() != 0) {
        const auto sent = static_cast<Graph::NodeIndex>(graph_.nodes().size() - 1);
        graph_.order(sent, graph_.receive(team_.rank_at(0), hand_out_slot, result));
        return std::move(graph_);
    }
    here_.resize(nodes);
    for (std::uint32_t step = 1; step < nodes; ++step) {
        take_from((node_ + nodes - step) % nodes);
    }
    send_across();
    take_own();
    combine();
    hand_out();
    return std::move(graph_);
}

}  // namespace

Graph reduce_scatter_two_level(const Call& call)
{
    return Builder(call).build();
}

}  // namespace headway::protocol::coll
