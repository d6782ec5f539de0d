// SPDX-License-Identifier: Apache-2.0
#include "study/rank_proof.hpp"

#include <algorithm>

namespace headway::study {

using engine::Extent;
using engine::Graph;
using engine::GraphNode;
using engine::NodeKind;
using engine::Space;

namespace {

constexpr std::uint32_t nobody = Graph::none;

std::string say(std::uint32_t number)
{
    return std::to_string(number);
}

bool do_overlap(Extent one, Extent other)
{
    return one.space == other.space && one.first_block < other.first_block + other.block_count &&
           other.first_block < one.first_block + one.block_count;
}

}  // namespace

std::uint32_t size_of(const RankContract& facts, Space space, std::uint32_t block) noexcept
{
    switch (space) {
        case Space::send:
            return facts.send[block].size;
        case Space::receive:
            return facts.receive[block].size;
        case Space::scratch:
            break;
    }
    return facts.scratch[block % facts.scratch.size()];
}

void add_sizes(const BlockNumbers& numbers, const RankContract& facts,
               std::vector<std::uint32_t>& sizes)
{
    for (const SendBlock& block : facts.send) {
        sizes.push_back(block.size);
    }
    for (const ReceiveBlock& block : facts.receive) {
        sizes.push_back(block.size);
    }
    std::uint32_t left = numbers.count(Space::scratch);
    while (left != 0) {
        const auto more = std::min(left, static_cast<std::uint32_t>(facts.scratch.size()));
        sizes.insert(sizes.end(), facts.scratch.begin(),
                     facts.scratch.begin() + static_cast<std::ptrdiff_t>(more));
        left -= more;
    }
}

std::optional<std::uint32_t> find_other_size(const RankContract& source_facts, Extent source,
                                             const RankContract& target_facts, Extent target)
{
    for (std::uint32_t i = 0; i < source.block_count; ++i) {
        if (size_of(source_facts, source.space, source.first_block + i) !=
            size_of(target_facts, target.space, target.first_block + i)) {
            return i;
        }
    }
    return std::nullopt;
}

std::optional<std::string> RankProof::examine(const Graph& graph, const GraphOrder& order,
                                              const Contract& contract, std::uint32_t rank,
                                              MessageEnds& ends)
{
    graph_ = &graph;
    order_ = &order;
    contract_ = &contract;
    facts_ = &contract.ranks[rank];
    rank_ = rank;
    numbers_ = BlockNumbers(graph, *facts_);
    sizes_.clear();
    add_sizes(numbers_, *facts_, sizes_);
    if (order.sorted().size() != graph.nodes().size()) {
        return "the edges of its graph have a cycle";
    }
    for (Graph::NodeIndex node = 0; node < graph.nodes().size(); ++node) {
        if (auto fault = examine_node(node)) {
            return fault;
        }
    }
    if (auto fault = examine_names(ends)) {
        return fault;
    }
    return examine_races();
}

std::optional<std::string> RankProof::examine_extent(Graph::NodeIndex node, Extent extent) const
{
    const std::uint64_t room = numbers_.count(extent.space);
    if (std::uint64_t{extent.first_block} + extent.block_count > room && extent.block_count != 0) {
        const std::uint64_t first = std::max<std::uint64_t>(extent.first_block, room);
        return describe(*graph_, node) + " touches block " + std::to_string(first) + " of " +
               std::string(name_of(extent.space)) + ", which has " + std::to_string(room);
    }
    const bool do_follow = extent.space == Space::scratch ||
                           (extent.space == Space::send && contract_->do_send_blocks_follow);
    if (contract_->has_listed_blocks && extent.block_count > 1 && !do_follow) {
        return describe(*graph_, node) + " takes blocks " + say(extent.first_block) + " to " +
               say(extent.first_block + extent.block_count - 1) + " of " +
               std::string(name_of(extent.space)) + " for neighbours, but they may lie anywhere";
    }
    return std::nullopt;
}

std::optional<std::string> RankProof::examine_node(Graph::NodeIndex node) const
{
    const GraphNode& step = graph_->nodes()[node];
    if ((is_message(step.kind) || reads_peer(step.kind)) &&
        (step.peer >= contract_->ranks.size() || step.peer == rank_)) {
        return describe(*graph_, node) + " names a peer that is no other rank of " +
               std::to_string(contract_->ranks.size());
    }
    if (has_own_source(step.kind)) {
        if (auto fault = examine_extent(node, step.source)) {
            return fault;
        }
    }
    if (!has_target(step.kind)) {
        return std::nullopt;
    }
    if (auto fault = examine_extent(node, step.target)) {
        return fault;
    }
    if (step.target.space == Space::send && step.target.block_count != 0) {
        return describe(*graph_, node) + " writes block " + say(step.target.first_block) +
               " of send, which is the caller's input";
    }
    // Of a peer's space, study/peer_proof speaks.
    if (!has_own_source(step.kind)) {
        return std::nullopt;
    }
    if (do_overlap(step.source, step.target)) {
        return describe(*graph_, node) + " reads block " + say(step.target.first_block) + " of " +
               std::string(name_of(step.target.space)) + " or a neighbour while it writes there";
    }
    if (step.source.block_count != step.target.block_count) {
        return describe(*graph_, node) + " takes " + say(step.source.block_count) +
               " blocks from block " + say(step.source.first_block) + " to " +
               say(step.target.block_count);
    }
    const std::uint32_t* const source = sizes_.data() + numbers_.first(step.source);
    const std::uint32_t* const target = sizes_.data() + numbers_.first(step.target);
    if (!std::equal(source, source + step.source.block_count, target)) {
        const auto other = find_other_size(*facts_, step.source, *facts_, step.target);
        return describe(*graph_, node) + " takes block " + say(step.source.first_block + *other) +
               " of " + std::string(name_of(step.source.space)) + " to block " +
               say(step.target.first_block + *other) + " of " +
               std::string(name_of(step.target.space)) + ", which may have another size";
    }
    return std::nullopt;
}

/// Two messages of one name must not be under way at once.
std::optional<std::string> RankProof::examine_names(MessageEnds& ends) const
{
    const auto unordered = ends.add(*graph_, *order_);
    if (!unordered) {
        return std::nullopt;
    }
    return describe(*graph_, unordered->first) + " and node " + say(unordered->second) +
           " have one name, but no edges say which is the first";
}

// In a sorted order it is enough that each access comes after the last write, and each write after
// all that read since: what was before that is before it too.
std::optional<std::string> RankProof::examine_races()
{
    const std::uint32_t sends = numbers_.count(Space::send);
    touched_.assign(numbers_.count(), {nobody, nobody});
    readers_.clear();
    for (const Graph::NodeIndex node : order_->sorted()) {
        const GraphNode& step = graph_->nodes()[node];
        if (has_own_source(step.kind)) {
            if (auto fault = read(node, numbers_.first(step.source), step.source.block_count)) {
                return fault;
            }
        }
        if (!has_target(step.kind)) {
            continue;
        }
        if (contract_->do_spaces_overlap && step.target.space == Space::receive &&
            step.target.block_count != 0) {
            if (auto fault = write(node, 0, sends)) {
                return fault;
            }
        }
        if (auto fault = write(node, numbers_.first(step.target), step.target.block_count)) {
            return fault;
        }
    }
    return std::nullopt;
}

std::optional<std::string> RankProof::read(Graph::NodeIndex node, std::uint32_t first,
                                           std::uint32_t count)
{
    for (std::uint32_t block = first; block < first + count; ++block) {
        Touched& touched = touched_[block];
        if (touched.writer != nobody && !order_->is_before(touched.writer, node)) {
            return say_race(touched.writer, node, block);
        }
        readers_.push_back({node, touched.last_reader});
        touched.last_reader = static_cast<std::uint32_t>(readers_.size() - 1);
    }
    return std::nullopt;
}

std::optional<std::string> RankProof::write(Graph::NodeIndex node, std::uint32_t first,
                                            std::uint32_t count)
{
    for (std::uint32_t block = first; block < first + count; ++block) {
        Touched& touched = touched_[block];
        if (touched.writer != nobody && touched.writer != node &&
            !order_->is_before(touched.writer, node)) {
            return say_race(touched.writer, node, block);
        }
        for (std::uint32_t i = touched.last_reader; i != nobody; i = readers_[i].next) {
            if (readers_[i].node != node && !order_->is_before(readers_[i].node, node)) {
                return say_race(readers_[i].node, node, block);
            }
        }
        touched = {node, nobody};
    }
    return std::nullopt;
}

std::string RankProof::say_race(Graph::NodeIndex one, Graph::NodeIndex other,
                                std::uint32_t block) const
{
    Space space = Space::scratch;
    for (const Space each : {Space::receive, Space::send}) {
        if (block < numbers_.first(each) + numbers_.count(each)) {
            space = each;
        }
    }
    return describe(*graph_, one) + " and " + describe(*graph_, other) + " touch block " +
           say(block - numbers_.first(space)) + " of " + std::string(name_of(space)) +
           " at once: no edges order them";
}

}  // namespace headway::study
