// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "protocol/coll/team.hpp"
#include "protocol/coll/topology.hpp"

namespace headway::protocol::coll {

using engine::Extent;
using engine::Space;

namespace {

constexpr std::uint16_t up_slot = 0;
constexpr std::uint16_t down_slot = 1;
constexpr std::uint16_t first_lead_slot = 2;
constexpr Extent result{.space = Space::receive};

/// The ranks of a run combine up a binomial tree to its first one, its lead; leads find by doubling
/// what is before their runs; on the way back down everyone hands on what is before each of its
/// children. So operands are always neighbours, the lower ranks' first, whoever shares a node.
class Builder {
  public:
    Builder(const Call& call, bool is_exclusive)
        : in_place_(call.place.in_place),
          is_exclusive_(is_exclusive),
          topology_(*call.topology),
          run_(topology_.run_of(call.place.rank)),
          team_(Team::range(call.place.rank, topology_.run_begin(run_),
                            topology_.run_begin(run_ + 1) - topology_.run_begin(run_))),
          place_(team_, 2)
    {
    }

    Graph build();

  private:
    Extent take_scratch()
    {
        ++graph_.scratch_blocks;
        return {Space::scratch, graph_.scratch_blocks - 1, 1};
    }
    /// Nothing is before rank 0.
    bool has_prefix() const { return run_ != 0 || !place_.is_top(); }

    void contribute();
    void combine_upwards();
    void find_prefix_of_run();
    Graph::NodeIndex take_operand(Reduced incoming, bool is_sum_sent_again, Graph::NodeIndex sent);
    Reduced room_of_prefix();
    void put_prefix_before(std::size_t children);
    void hand_down();

    bool in_place_;
    bool is_exclusive_;
    const Topology& topology_;
    std::uint32_t run_;
    Team team_;
    TreePlace place_;
    Graph graph_;
    std::vector<Reduced> partials_;             ///< of this rank and its first 0, 1, 2 ... children
    Graph::NodeIndex handed_on_ = Graph::none;  ///< the last node that reads the last of them
    Reduced prefix_;                            ///< of all ranks before this one
    Reduced sum_;  ///< leads: of runs that end with this one, twice as many after each round
};

// What the prefix will be combined into must not be the caller's input.
void Builder::contribute()
{
    const Extent input{.space = in_place_ ? Space::receive : Space::send};
    const bool is_combined_into = place_.count_below() > 1 && has_prefix();
    if (is_exclusive_ ? !is_combined_into : in_place_) {
        partials_ = {{input, Graph::none}};
        return;
    }
    const Extent own = is_exclusive_ ? take_scratch() : result;
    partials_ = {{own, graph_.copy(input, own)}};
}

void Builder::combine_upwards()
{
    place_.for_each_child([&](std::uint32_t child, std::uint32_t) {
        const Extent theirs = take_scratch();
        const auto received = graph_.receive(team_.rank_at(child), up_slot, theirs);
        const auto combined = graph_.reduce(partials_.back().vector, theirs);
        graph_.order(received, combined);
        graph_.order(partials_.back().combined, combined);
        partials_.push_back({theirs, combined});
    });
    if (!place_.is_top()) {
        handed_on_ = graph_.send(team_.rank_at(place_.parent()), up_slot, partials_.back().vector);
        graph_.order(partials_.back().combined, handed_on_);
    }
}

/// Where the prefix arrives, and the node after which it may. An exclusive one takes the place of
/// the input, in place.
Reduced Builder::room_of_prefix()
{
    if (!is_exclusive_) {
        return {take_scratch(), Graph::none};
    }
    const auto input_read = partials_.size() == 1 ? handed_on_ : partials_[0].combined;
    return {result, in_place_ ? input_read : Graph::none};
}

/// `incoming` stands for the runs right before those of the sum. Returns the last node to read it.
Graph::NodeIndex Builder::take_operand(Reduced incoming, bool is_sum_sent_again,
                                       Graph::NodeIndex sent)
{
    Graph::NodeIndex read = incoming.combined;
    if (is_sum_sent_again) {
        read = graph_.reduce(incoming.vector, sum_.vector);
        graph_.order(incoming.combined, read);
        graph_.order(sum_.combined, read);
        graph_.order(sent, read);
        sum_.combined = read;
    }
    if (incoming.vector == prefix_.vector) {
        return read;
    }
    const auto combined = graph_.reduce(incoming.vector, prefix_.vector);
    graph_.order(read, combined);
    graph_.order(prefix_.combined, combined);
    prefix_.combined = combined;
    return combined;
}

void Builder::find_prefix_of_run()
{
    const std::uint32_t runs = topology_.run_count();
    sum_ = partials_.back();
    if (run_ != 0 && run_ + 1 < runs && partials_.size() == 1) {
        const Extent kept = take_scratch();
        handed_on_ = graph_.copy(sum_.vector, kept);
        graph_.order(sum_.combined, handed_on_);
        sum_ = {kept, handed_on_};
    }
    // The first operand is the beginning of the prefix. The others alternate between two rooms, so
    // that one may arrive while the one before it is combined.
    Reduced rooms[2];
    std::uint16_t slot = first_lead_slot;
    for (std::uint32_t distance = 1; distance < runs; distance *= 2, ++slot) {
        Graph::NodeIndex sent = Graph::none;
        if (run_ + distance < runs) {
            sent = graph_.send(topology_.run_begin(run_ + distance), slot, sum_.vector);
            graph_.order(sum_.combined, sent);
        }
        if (run_ < distance) {
            continue;
        }
        Reduced& room = distance == 1 ? prefix_ : rooms[slot % 2U];
        if (distance == 1) {
            room = room_of_prefix();
        } else if (distance <= 4) {
            room = {take_scratch(), Graph::none};
        }
        const auto received =
            graph_.receive(topology_.run_begin(run_ - distance), slot, room.vector);
        graph_.order(room.combined, received);
        room.combined = take_operand({room.vector, received}, run_ + 2 * distance < runs, sent);
    }
}

/// Combines the prefix with what this rank and its first children have, in the place of that.
void Builder::put_prefix_before(std::size_t children)
{
    Reduced& partial = partials_[children];
    const bool is_last = children + 1 == partials_.size();
    const auto combined = graph_.reduce(prefix_.vector, partial.vector);
    graph_.order(prefix_.combined, combined);
    graph_.order(partial.combined, combined);
    graph_.order(is_last ? handed_on_ : partials_[children + 1].combined, combined);
    partial.combined = combined;
}

// A child's prefix is that of this rank, this rank and its nearer children. The farthest one has
// most below it.
void Builder::hand_down()
{
    if (!place_.is_top()) {
        prefix_ = room_of_prefix();
        const auto received =
            graph_.receive(team_.rank_at(place_.parent()), down_slot, prefix_.vector);
        graph_.order(prefix_.combined, received);
        prefix_.combined = received;
    }
    std::size_t children = partials_.size() - 1;
    place_.for_each_child_from_far([&](std::uint32_t child, std::uint32_t) {
        --children;
        if (has_prefix()) {
            put_prefix_before(children);
        }
        graph_.order(partials_[children].combined,
                     graph_.send(team_.rank_at(child), down_slot, partials_[children].vector));
    });
    if (!is_exclusive_ && has_prefix() && partials_.size() == 1) {
        put_prefix_before(0);
    }
}

Graph Builder::build()
{
    contribute();
    combine_upwards();
    if (place_.is_top()) {
        find_prefix_of_run();
    }
    hand_down();
    return std::move(graph_);
}

}  // namespace

Graph scan_two_level(const Call& call)
{
    return Builder(call, false).build();
}

Graph exscan_two_level(const Call& call)
{
    return Builder(call, true).build();
}

}  // namespace headway::protocol::coll
