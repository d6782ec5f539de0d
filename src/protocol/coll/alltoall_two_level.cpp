// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t collect_slot = 0;
constexpr std::uint16_t hand_out_slot = 1;
constexpr std::uint16_t across_slot = 2;

/// A lead works on four areas of scratch, each with a row of `size` blocks for each member:
///   collected  by member, then position of the destination
///   outgoing   by destination node, then member, then destination
///   arrived    by source node, then source, then member
///   result     by member, then position of the source
/// With one member the second is the first and the third is the last.
class Lead {
  public:
    Lead(const Call& call, Graph& graph)
        : call_(call),
          topology_(*call.topology),
          node_(topology_.node_of(call.place.rank)),
          ranks_(topology_.ranks_of(node_)),
          members_(static_cast<std::uint32_t>(ranks_.size())),
          size_(call.place.size),
          graph_(graph)
    {
    }

    void build();

  private:
    Extent block(std::uint32_t area, std::uint32_t offset, std::uint32_t count) const
    {
        return {Space::scratch, area * members_ * size_ + offset, count};
    }
    std::uint32_t count_of(std::uint32_t node) const
    {
        return static_cast<std::uint32_t>(topology_.ranks_of(node).size());
    }
    void collect();
    void send_across(std::uint32_t node);
    void take_from(std::uint32_t node);
    void hand_out();

    const Call& call_;
    const Topology& topology_;
    std::uint32_t node_;
    std::span<const std::uint32_t> ranks_;
    std::uint32_t members_;
    std::uint32_t size_;
    Graph& graph_;
    std::vector<Graph::NodeIndex> collected_;
    std::vector<std::vector<Graph::NodeIndex>> placed_;  ///< by member: blocks of its result
};

constexpr std::uint32_t collected_area = 0;
constexpr std::uint32_t result_area = 1;
constexpr std::uint32_t outgoing_area = 2;
constexpr std::uint32_t arrived_area = 3;

void Lead::collect()
{
    std::vector<Graph::NodeIndex> here;
    const Space input = call_.place.in_place ? Space::receive : Space::send;
    for (std::uint32_t member = 0; member < members_; ++member) {
        const std::uint32_t row = member * size_;
        if (ranks_[member] != call_.place.rank) {
            here.push_back(
                graph_.receive(ranks_[member], collect_slot, block(collected_area, row, size_)));
            continue;
        }
        for_each_run(topology_.by_position(),
                     [&](std::uint32_t position, std::uint32_t rank, std::uint32_t count) {
                         here.push_back(graph_.copy({input, rank, count},
                                                    block(collected_area, row + position, count)));
                     });
    }
    collected_ = {add_join(graph_, here)};
}

void Lead::send_across(std::uint32_t node)
{
    const std::uint32_t first = topology_.first_position(node);
    const std::uint32_t count = count_of(node);
    const std::uint32_t peer = topology_.lead_of(node, 0);
    if (members_ == 1) {
        graph_.order(collected_.front(),
                     graph_.send(peer, across_slot, block(collected_area, first, count)));
        return;
    }
    const std::uint32_t begin = members_ * first;
    std::vector<Graph::NodeIndex> packed;
    for (std::uint32_t member = 0; member < members_; ++member) {
        packed.push_back(graph_.copy(block(collected_area, member * size_ + first, count),
                                     block(outgoing_area, begin + member * count, count)));
        graph_.order(collected_.front(), packed.back());
    }
    const auto sent = graph_.send(peer, across_slot, block(outgoing_area, begin, members_ * count));
    for (const Graph::NodeIndex copied : packed) {
        graph_.order(copied, sent);
    }
}

void Lead::take_from(std::uint32_t node)
{
    const std::uint32_t first = topology_.first_position(node);
    const std::uint32_t count = count_of(node);
    const std::uint32_t peer = topology_.lead_of(node, 0);
    if (members_ == 1) {
        placed_[0].push_back(graph_.receive(peer, across_slot, block(result_area, first, count)));
        return;
    }
    const std::uint32_t begin = members_ * first;
    const auto received =
        graph_.receive(peer, across_slot, block(arrived_area, begin, members_ * count));
    for (std::uint32_t member = 0; member < members_; ++member) {
        for (std::uint32_t source = 0; source < count; ++source) {
            placed_[member].push_back(
                graph_.copy(block(arrived_area, begin + source * members_ + member, 1),
                            block(result_area, member * size_ + first + source, 1)));
            graph_.order(received, placed_[member].back());
        }
    }
}

void Lead::hand_out()
{
    const std::uint32_t first = topology_.first_position(node_);
    for (std::uint32_t member = 0; member < members_; ++member) {
        const std::uint32_t row = member * size_;
        for (std::uint32_t source = 0; source < members_; ++source) {
            placed_[member].push_back(
                graph_.copy(block(collected_area, source * size_ + first + member, 1),
                            block(result_area, row + first + source, 1)));
            graph_.order(collected_.front(), placed_[member].back());
        }
        const auto ready = add_join(graph_, placed_[member]);
        if (ranks_[member] != call_.place.rank) {
            graph_.order(
                ready, graph_.send(ranks_[member], hand_out_slot, block(result_area, row, size_)));
            continue;
        }
        for_each_run(topology_.by_position(),
                     [&](std::uint32_t position, std::uint32_t rank, std::uint32_t count) {
                         graph_.order(ready, graph_.copy(block(result_area, row + position, count),
                                                         {Space::receive, rank, count}));
                     });
    }
}

void Lead::build()
{
    graph_.scratch_blocks = (members_ == 1 ? 2 : 4) * members_ * size_;
    placed_.resize(members_);
    collect();
    const std::uint32_t nodes = topology_.node_count();
    for (std::uint32_t step = 1; step < nodes; ++step) {
        take_from((node_ + nodes - step) % nodes);
    }
    for (std::uint32_t step = 1; step < nodes; ++step) {
        send_across((node_ + step) % nodes);
    }
    hand_out();
}

/// Everyone else sends all to the lead and gets all from it, by position: through scratch where
/// positions are not ranks.
void add_member(Graph& graph, const Call& call)
{
    const Topology& topology = *call.topology;
    const std::uint32_t lead = topology.lead_of(topology.node_of(call.place.rank), 0);
    const std::uint32_t size = call.place.size;
    const Space input = call.place.in_place ? Space::receive : Space::send;
    if (topology.is_contiguous()) {
        const auto sent = graph.send(lead, collect_slot, {input, 0, size});
        const auto received = graph.receive(lead, hand_out_slot, {Space::receive, 0, size});
        graph.order(call.place.in_place ? sent : Graph::none, received);
        return;
    }
    graph.scratch_blocks = 2 * size;
    std::vector<Graph::NodeIndex> packed;
    const auto pack = [&](std::uint32_t position, std::uint32_t rank, std::uint32_t count) {
        packed.push_back(graph.copy({input, rank, count}, {Space::scratch, position, count}));
    };
    for_each_run(topology.by_position(), pack);
    const auto all_packed = add_join(graph, packed);
    graph.order(all_packed, graph.send(lead, collect_slot, {Space::scratch, 0, size}));
    const auto received = graph.receive(lead, hand_out_slot, {Space::scratch, size, size});
    for_each_run(topology.by_position(),
                 [&](std::uint32_t position, std::uint32_t rank, std::uint32_t count) {
                     const auto placed = graph.copy({Space::scratch, size + position, count},
                                                    {Space::receive, rank, count});
                     graph.order(received, placed);
                     graph.order(call.place.in_place ? all_packed : Graph::none, placed);
                 });
}

}  // namespace

Graph alltoall_two_level(const Call& call)
{
    Graph graph;
    const Topology& topology = *call.topology;
    if (call.place.rank == topology.lead_of(topology.node_of(call.place.rank), 0)) {
        Lead(call, graph).build();
    } else {
        add_member(graph, call);
    }
    return graph;
}

}  // namespace headway::protocol::coll
