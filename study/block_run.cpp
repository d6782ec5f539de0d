// SPDX-License-Identifier: Apache-2.0
#include "study/block_run.hpp"

#include <algorithm>

namespace headway::study {

using engine::Extent;
using engine::Graph;
using engine::GraphNode;
using engine::NodeKind;
using engine::Space;

namespace {

std::uint32_t most_blocks(const Contract& contract)
{
    std::size_t most = 1;
    for (const RankContract& facts : contract.ranks) {
        most = std::max({most, facts.send.size(), facts.receive.size()});
    }
    return static_cast<std::uint32_t>(most);
}

}  // namespace

std::optional<std::string> BlockRun::run(std::span<const Graph> graphs,
                                         std::span<const GraphOrder> orders,
                                         const Contract& contract, const MessageEnds& ends)
{
    graphs_ = graphs;
    orders_ = orders;
    contract_ = &contract;
    ends_ = &ends;
    set_up();
    while (!ready_.empty()) {
        const Place place = ready_.back();
        ready_.pop_back();
        if (auto fault = start(place)) {
            return fault;
        }
    }
    return remaining_ == 0 ? std::nullopt : explain_standstill();
}

void BlockRun::set_up()
{
    const auto size = static_cast<std::uint32_t>(graphs_.size());
    expressions_.clear(size, most_blocks(*contract_));
    ranks_.resize(size);
    values_.clear();
    sizes_.clear();
    waiting_.assign(ends_->node_count(), {});
    ready_.clear();
    meetings_.clear();
    traffic_ = {};
    do_read_peers_ = has_peer_reads(graphs_);
    remaining_ = ends_->node_count();
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        const RankContract& facts = contract_->ranks[rank];
        const BlockNumbers numbers(graphs_[rank], facts);
        ranks_[rank] = {values_.size(), numbers};
        for (const SendBlock& block : facts.send) {
            values_.push_back(expressions_.input(block.origin));
        }
        for (const ReceiveBlock& block : facts.receive) {
            values_.push_back(block.has_input ? expressions_.input(block.input)
                                              : Expressions::nothing);
        }
        values_.resize(values_.size() + numbers.count(Space::scratch), Expressions::nothing);
        add_sizes(numbers, facts, sizes_);
        const auto count = static_cast<std::uint32_t>(graphs_[rank].nodes().size());
        for (Graph::NodeIndex node = 0; node < count; ++node) {
            const std::uint32_t edges = orders_[rank].edges_into(node);
            waiting_[ends_->number({rank, node})].edges = edges;
            if (edges == 0) {
                ready_.push_back({rank, node});
            }
        }
    }
    is_written_.assign(values_.size(), 0);
    if (contract_->is_barrier) {
        set_up_barrier();
    }
}

void BlockRun::set_up_barrier()
{
    words_ = (graphs_.size() + 63) / 64;
    begun_.assign(ends_->node_count() * words_, 0);
    for (std::uint32_t rank = 0; rank < graphs_.size(); ++rank) {
        for (Graph::NodeIndex node = 0; node < graphs_[rank].nodes().size(); ++node) {
            begun_[ends_->number({rank, node}) * words_ + rank / 64] = std::uint64_t{1}
                                                                       << (rank % 64);
        }
    }
}

std::optional<std::string> BlockRun::start(Place place)
{
    const GraphNode& step = node_at(place);
    switch (step.kind) {
        case NodeKind::send:
        case NodeKind::receive:
        case NodeKind::publish:
        case NodeKind::wait:
            return meet(place);
        case NodeKind::copy:
        case NodeKind::reduce:
            break;
        case NodeKind::peer_copy:
        case NodeKind::peer_reduce:
            count(place.rank, step.target);
            break;
    }
    const bool is_copy = step.kind == NodeKind::copy || step.kind == NodeKind::peer_copy;
    auto fault = is_copy ? take(source_of(place), step.source, place) : combine(place);
    complete(place);
    return fault;
}

std::optional<std::string> BlockRun::meet(Place place)
{
    const Place other = ends_->other_end(place);
    if (other.rank == MessageEnds::nobody || !waiting_[ends_->number(other)].is_here) {
        waiting_[ends_->number(place)].is_here = true;
        return std::nullopt;
    }
    waiting_[ends_->number(other)].is_here = false;
    return leaves(node_at(place).kind) ? deliver(place, other) : deliver(other, place);
}

std::optional<std::string> BlockRun::deliver(Place from, Place to)
{
    const bool do_publish = node_at(from).kind == NodeKind::publish;
    if (do_publish != (node_at(to).kind == NodeKind::wait)) {
        return say(to) + " meets " + describe(graphs_[from.rank], from.node) + " of " +
               of_rank(from.rank);
    }
    if (do_read_peers_) {
        meetings_.push_back({from.rank, from.node, to.rank, to.node});
    }
    if (do_publish) {
        ++traffic_.messages;
        if (contract_->is_barrier) {
            know(to, from);
        }
        complete(from);
        complete(to);
        return std::nullopt;
    }
    const Extent source = node_at(from).source;
    const Extent target = node_at(to).target;
    if (source.block_count != target.block_count) {
        return say(to) + " has room for " + std::to_string(target.block_count) +
               " blocks from block " + std::to_string(target.first_block) + " on and gets " +
               std::to_string(source.block_count);
    }
    const auto source_sizes =
        sizes_.begin() + static_cast<std::ptrdiff_t>(number(from.rank, source));
    const auto target_sizes = sizes_.begin() + static_cast<std::ptrdiff_t>(number(to.rank, target));
    if (!std::equal(source_sizes, source_sizes + source.block_count, target_sizes)) {
        const auto other =
            find_other_size(contract_->ranks[from.rank], source, contract_->ranks[to.rank], target);
        return say(to) + " gets block " + std::to_string(source.first_block + *other) + " of the " +
               std::string(study::name_of(source.space)) + " space of " + of_rank(from.rank) +
               " into block " + std::to_string(target.first_block + *other) + " of " +
               std::string(study::name_of(target.space)) + ", which may have another size";
    }
    count(to.rank, target);
    ++traffic_.messages;
    auto fault = take(from, source, to);
    if (contract_->is_barrier) {
        know(to, from);
    }
    complete(from);
    complete(to);
    return fault;
}

/// What has moved from one rank to another.
void BlockRun::count(std::uint32_t rank, Extent arrived)
{
    traffic_.blocks += arrived.block_count;
    const std::size_t first = number(rank, arrived);
    for (std::uint32_t i = 0; i < arrived.block_count; ++i) {
        traffic_.bytes += bytes_of_size(sizes_[first + i]);
    }
}

/// Where a node finds its source: its rank, or the peer, of which the node is nobody's.
BlockRun::Place BlockRun::source_of(Place place) const
{
    const GraphNode& step = node_at(place);
    return {reads_peer(step.kind) ? step.peer : place.rank, place.node};
}

/// Moves the values of a source, of the rank of `from`, to the target of a node.
std::optional<std::string> BlockRun::take(Place from, Extent source, Place to)
{
    const Extent target = node_at(to).target;
    const std::size_t first = number(from.rank, source);
    const std::size_t there = number(to.rank, target);
    for (std::uint32_t i = 0; i < source.block_count; ++i) {
        const Expressions::Value value = values_[first + i];
        if (value == Expressions::nothing) {
            return say(reads_peer(node_at(to).kind) ? to : from) + " reads block " +
                   std::to_string(source.first_block + i) + " of " +
                   std::string(study::name_of(source.space)) + ", which nobody has written";
        }
        values_[there + i] = value;
        is_written_[there + i] = 1;
    }
    if (contract_->do_spaces_overlap && target.space == Space::receive && target.block_count != 0) {
        std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(ranks_[to.rank].first_value),
                    contract_->ranks[to.rank].send.size(), Expressions::nothing);
    }
    return std::nullopt;
}

std::optional<std::string> BlockRun::combine(Place place)
{
    const GraphNode& step = node_at(place);
    const Place from = source_of(place);
    const std::size_t first = number(from.rank, step.source);
    const std::size_t there = number(place.rank, step.target);
    for (std::uint32_t i = 0; i < step.source.block_count; ++i) {
        const Expressions::Value value =
            expressions_.combine(values_[first + i], values_[there + i]);
        if (value == Expressions::nothing) {
            const bool is_source = values_[first + i] == Expressions::nothing;
            const Extent extent = is_source ? step.source : step.target;
            return say(place) + " reads block " + std::to_string(extent.first_block + i) + " of " +
                   std::string(study::name_of(extent.space)) + ", which nobody has written";
        }
        values_[there + i] = value;
        is_written_[there + i] = 1;
    }
    return std::nullopt;
}

/// A node starts when what is before it is over; a receive, when it ends, knows what the sender
/// knew when that started. A send says nothing about its receiver: it may end before.
void BlockRun::know(Place place, Place sender)
{
    std::uint64_t* const own = &begun_[ends_->number(place) * words_];
    const std::uint64_t* const more = &begun_[ends_->number(sender) * words_];
    for (std::size_t word = 0; word < words_; ++word) {
        own[word] |= more[word];
    }
}

void BlockRun::complete(Place place)
{
    --remaining_;
    for (const Graph::NodeIndex next : orders_[place.rank].after(place.node)) {
        const Place after{place.rank, next};
        if (contract_->is_barrier) {
            know(after, place);
        }
        if (--waiting_[ends_->number(after)].edges == 0) {
            ready_.push_back(after);
        }
    }
}

std::string BlockRun::say_waits(Place place) const
{
    const GraphNode& step = node_at(place);
    const bool does_leave = leaves(step.kind);
    const std::string text = say(place) + ", of block " +
                             std::to_string((does_leave ? step.source : step.target).first_block);
    if (ends_->other_end(place).rank == MessageEnds::nobody) {
        return text + ", has no other end";
    }
    return does_leave ? text +
                            ", waits for ever where messages are not buffered: its receive waits "
                            "for it in turn"
                      : text + ", waits for ever: its send waits for it in turn";
}

/// Ends without another explain more than those that wait for each other, sends more than receives.
std::optional<std::string> BlockRun::explain_standstill() const
{
    std::optional<Place> worst;
    const auto rate = [&](Place place) {
        const bool is_alone = ends_->other_end(place).rank == MessageEnds::nobody;
        return (is_alone ? 2 : 0) + (leaves(node_at(place).kind) ? 1 : 0);
    };
    for (std::uint32_t rank = 0; rank < graphs_.size(); ++rank) {
        for (Graph::NodeIndex node = 0; node < graphs_[rank].nodes().size(); ++node) {
            const Place place{rank, node};
            if (waiting_[ends_->number(place)].is_here && (!worst || rate(*worst) < rate(place))) {
                worst = place;
            }
        }
    }
    return worst ? say_waits(*worst) : "some nodes never start";
}

std::optional<std::string> BlockRun::compare_block(std::uint32_t rank, std::uint32_t block)
{
    const ReceiveBlock& wanted = contract_->ranks[rank].receive[block];
    const std::size_t at = number(rank, {Space::receive, block, 1});
    const auto found = values_[at];
    switch (wanted.wanted) {
        case Wanted::untouched:
            return is_written_[at] != 0
                       ? std::optional<std::string>("was written, but must be left alone")
                       : std::nullopt;
        case Wanted::input:
            return expressions_.compare_input(found, wanted.origin);
        case Wanted::combined:
            break;
    }
    if (auto fault = expressions_.compare_combined(found, wanted.origin, wanted.count,
                                                   contract_->is_ordered)) {
        return fault;
    }
    if (!contract_->is_equal_on_all) {
        return std::nullopt;
    }
    const std::uint32_t model = rank < contract_->equal_from ? 0 : contract_->equal_from;
    const auto theirs = values_[number(model, {Space::receive, block, 1})];
    if (found != theirs) {
        return "is combined in another way than that of " + of_rank(model) +
               ", so that it may differ in its last bits";
    }
    return std::nullopt;
}

std::optional<std::string> BlockRun::compare_barrier() const
{
    for (std::uint32_t rank = 0; rank < graphs_.size(); ++rank) {
        const auto count = static_cast<std::uint32_t>(graphs_[rank].nodes().size());
        const auto has_heard_of = [&](std::uint32_t other) {
            bool has_heard = other == rank;
            for (Graph::NodeIndex node = 0; node < count && !has_heard; ++node) {
                const std::size_t word = ends_->number({rank, node}) * words_ + other / 64;
                has_heard = (begun_[word] >> (other % 64) & 1U) != 0;
            }
            return has_heard;
        };
        for (std::uint32_t other = 0; other < graphs_.size(); ++other) {
            if (!has_heard_of(other)) {
                return of_rank(rank) + ": node " + std::to_string(count == 0 ? 0 : count - 1) +
                       " and all others can be over, and no block of a message says it, before " +
                       of_rank(other) + " has begun";
            }
        }
    }
    return std::nullopt;
}

std::optional<std::string> BlockRun::compare()
{
    for (std::uint32_t rank = 0; rank < graphs_.size(); ++rank) {
        const auto blocks = static_cast<std::uint32_t>(contract_->ranks[rank].receive.size());
        for (std::uint32_t block = 0; block < blocks; ++block) {
            if (auto fault = compare_block(rank, block)) {
                return of_rank(rank) + ": block " + std::to_string(block) + " of receive " + *fault;
            }
        }
    }
    return contract_->is_barrier ? compare_barrier() : std::nullopt;
}

}  // namespace headway::study
