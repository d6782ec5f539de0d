// SPDX-License-Identifier: Apache-2.0
#include "study/verifier.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "study/expressions.hpp"
#include "study/graph_order.hpp"
#include "study/peer_proof.hpp"
#include "study/rank_proof.hpp"

namespace headway::study {

using engine::Extent;
using engine::Graph;
using engine::GraphNode;
using engine::NodeKind;
using engine::Space;

namespace {

std::string_view name_of(NodeKind kind)
{
    switch (kind) {
        case NodeKind::send:
            return "send to";
        case NodeKind::receive:
            return "receive from";
        case NodeKind::copy:
            return "copy";
        case NodeKind::publish:
            return "publish to";
        case NodeKind::wait:
            return "wait for";
        case NodeKind::peer_copy:
            return "copy from";
        case NodeKind::peer_reduce:
            return "reduce from";
        case NodeKind::reduce:
            break;
    }
    return "reduce";
}

/// Runs all graphs on expressions; a send ends when its receive takes it, not before.
class Run {
  public:
    Run(std::span<const Graph> graphs, std::span<const GraphOrder> orders,
        const Contract& contract);

    std::optional<std::string> run();
    std::optional<std::string> compare();
    Traffic traffic() const noexcept { return traffic_; }
    std::span<const Met> meetings() const noexcept { return meetings_; }

  private:
    struct Place {
        std::uint32_t rank;
        Graph::NodeIndex node;
    };
    struct Rank {
        std::vector<Expressions::Value> values;
        std::vector<bool> is_written;  ///< of receive
        std::vector<std::uint32_t> waiting;
        std::size_t remaining = 0;
    };
    /// Ends of one kind that wait for the others, by name.
    struct Waiting {
        std::vector<Place> ends;
        std::size_t taken = 0;
    };

    const GraphNode& node_at(Place place) const { return graphs_[place.rank].nodes()[place.node]; }
    std::uint32_t number(Place place, Extent extent) const
    {
        return BlockNumbers(graphs_[place.rank], contract_.ranks[place.rank]).first(extent);
    }
    std::string say(Place place) const
    {
        return of_rank(place.rank) + ": " + describe(graphs_[place.rank], place.node);
    }
    static std::uint64_t key(std::uint32_t from, std::uint32_t to, std::uint16_t slot)
    {
        return std::uint64_t{from} << 40 | std::uint64_t{to} << 16 | slot;
    }

    std::optional<std::string> start(Place place);
    std::optional<std::string> meet(Place place);
    std::optional<std::string> deliver(Place from, Place to);
    void count(std::uint32_t rank, Extent arrived);
    Place source_of(Place place) const;
    std::optional<std::string> take(Place from, Extent source, Place to);
    std::optional<std::string> combine(Place place);
    void complete(Place place);
    void know(Place place, const Place* sender);
    std::optional<std::string> explain_standstill() const;
    std::optional<std::string> compare_block(std::uint32_t rank, std::uint32_t block);
    std::optional<std::string> compare_barrier() const;

    std::span<const Graph> graphs_;
    std::span<const GraphOrder> orders_;
    const Contract& contract_;
    std::vector<Rank> ranks_;
    Expressions expressions_;
    std::vector<Place> ready_;
    std::unordered_map<std::uint64_t, Waiting> waiting_[2];  ///< sends, receives
    Traffic traffic_;
    bool do_read_peers_;
    std::vector<Met> meetings_;  ///< where ranks read their peers
    std::size_t remaining_ = 0;
    /// Barriers only: by rank and node, who has surely begun when it starts, and when it is over.
    std::vector<std::vector<std::vector<bool>>> begun_;
};

std::uint32_t most_blocks(const Contract& contract)
{
    std::size_t most = 1;
    for (const RankContract& facts : contract.ranks) {
        most = std::max({most, facts.send.size(), facts.receive.size()});
    }
    return static_cast<std::uint32_t>(most);
}

Run::Run(std::span<const Graph> graphs, std::span<const GraphOrder> orders,
         const Contract& contract)
    : graphs_(graphs),
      orders_(orders),
      contract_(contract),
      ranks_(graphs.size()),
      expressions_(static_cast<std::uint32_t>(graphs.size()), most_blocks(contract)),
      do_read_peers_(has_peer_reads(graphs))
{
    for (std::uint32_t rank = 0; rank < graphs.size(); ++rank) {
        const RankContract& facts = contract.ranks[rank];
        const BlockNumbers numbers(graphs[rank], facts);
        Rank& state = ranks_[rank];
        state.values.resize(numbers.count());
        state.is_written.resize(facts.receive.size());
        for (std::size_t i = 0; i < facts.send.size(); ++i) {
            state.values[i] = expressions_.input(facts.send[i].origin);
        }
        for (std::size_t i = 0; i < facts.receive.size(); ++i) {
            if (facts.receive[i].has_input) {
                state.values[facts.send.size() + i] = expressions_.input(facts.receive[i].input);
            }
        }
        const auto count = static_cast<std::uint32_t>(graphs[rank].nodes().size());
        state.remaining = count;
        remaining_ += count;
        for (Graph::NodeIndex node = 0; node < count; ++node) {
            state.waiting.push_back(orders[rank].edges_into(node));
            if (state.waiting.back() == 0) {
                ready_.push_back({rank, node});
            }
        }
    }
    if (contract.is_barrier) {
        begun_.resize(graphs.size());
        for (std::uint32_t rank = 0; rank < graphs.size(); ++rank) {
            std::vector<bool> own(graphs.size());
            own[rank] = true;
            begun_[rank].assign(graphs[rank].nodes().size(), own);
        }
    }
}

std::optional<std::string> Run::run()
{
    while (!ready_.empty()) {
        const Place place = ready_.back();
        ready_.pop_back();
        if (auto fault = start(place)) {
            return fault;
        }
    }
    return remaining_ == 0 ? std::nullopt : explain_standstill();
}

std::optional<std::string> Run::start(Place place)
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

std::optional<std::string> Run::meet(Place place)
{
    const GraphNode& step = node_at(place);
    const bool is_send = leaves(step.kind);
    const std::uint64_t name =
        is_send ? key(place.rank, step.peer, step.slot) : key(step.peer, place.rank, step.slot);
    auto& others = waiting_[is_send ? 1 : 0];
    const auto found = others.find(name);
    if (found == others.end()) {
        waiting_[is_send ? 0 : 1][name].ends.push_back(place);
        return std::nullopt;
    }
    const Place other = found->second.ends[found->second.taken++];
    if (found->second.taken == found->second.ends.size()) {
        others.erase(found);
    }
    return is_send ? deliver(place, other) : deliver(other, place);
}

std::optional<std::string> Run::deliver(Place from, Place to)
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
        if (contract_.is_barrier) {
            know(to, &from);
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
    const auto other =
        find_other_size(contract_.ranks[from.rank], source, contract_.ranks[to.rank], target);
    if (other) {
        return say(to) + " gets block " + std::to_string(source.first_block + *other) + " of the " +
               std::string(study::name_of(source.space)) + " space of " + of_rank(from.rank) +
               " into block " + std::to_string(target.first_block + *other) + " of " +
               std::string(study::name_of(target.space)) + ", which may have another size";
    }
    count(to.rank, target);
    ++traffic_.messages;
    auto fault = take(from, source, to);
    if (contract_.is_barrier) {
        know(to, &from);
    }
    complete(from);
    complete(to);
    return fault;
}

/// What has moved from one rank to another.
void Run::count(std::uint32_t rank, Extent arrived)
{
    traffic_.blocks += arrived.block_count;
    for (std::uint32_t i = 0; i < arrived.block_count; ++i) {
        traffic_.bytes +=
            bytes_of_size(size_of(contract_.ranks[rank], arrived.space, arrived.first_block + i));
    }
}

/// Where a node finds its source: its rank, or the peer, of which the node is nobody's.
Run::Place Run::source_of(Place place) const
{
    const GraphNode& step = node_at(place);
    return {reads_peer(step.kind) ? step.peer : place.rank, place.node};
}

/// Moves the values of a source, of the rank of `from`, to the target of a node.
std::optional<std::string> Run::take(Place from, Extent source, Place to)
{
    const Extent target = node_at(to).target;
    const std::uint32_t first = number(from, source);
    const std::uint32_t there = number(to, target);
    Rank& receiver = ranks_[to.rank];
    for (std::uint32_t i = 0; i < source.block_count; ++i) {
        const Expressions::Value value = ranks_[from.rank].values[first + i];
        if (value == Expressions::nothing) {
            return say(reads_peer(node_at(to).kind) ? to : from) + " reads block " +
                   std::to_string(source.first_block + i) + " of " +
                   std::string(study::name_of(source.space)) + ", which nobody has written";
        }
        receiver.values[there + i] = value;
        if (target.space == Space::receive) {
            receiver.is_written[target.first_block + i] = true;
        }
    }
    if (contract_.do_spaces_overlap && target.space == Space::receive && target.block_count != 0) {
        std::fill_n(receiver.values.begin(), contract_.ranks[to.rank].send.size(),
                    Expressions::nothing);
    }
    return std::nullopt;
}

std::optional<std::string> Run::combine(Place place)
{
    const GraphNode& step = node_at(place);
    const Place from = source_of(place);
    const std::uint32_t first = number(from, step.source);
    const std::uint32_t there = number(place, step.target);
    const Rank& lower = ranks_[from.rank];
    Rank& state = ranks_[place.rank];
    for (std::uint32_t i = 0; i < step.source.block_count; ++i) {
        const Expressions::Value value =
            expressions_.combine(lower.values[first + i], state.values[there + i]);
        if (value == Expressions::nothing) {
            const bool is_source = lower.values[first + i] == Expressions::nothing;
            const Extent extent = is_source ? step.source : step.target;
            return say(place) + " reads block " + std::to_string(extent.first_block + i) + " of " +
                   std::string(study::name_of(extent.space)) + ", which nobody has written";
        }
        state.values[there + i] = value;
        if (step.target.space == Space::receive) {
            state.is_written[step.target.first_block + i] = true;
        }
    }
    return std::nullopt;
}

/// A node starts when what is before it is over; a receive, when it ends, knows what the sender
/// knew when that started. A send says nothing about its receiver: it may end before.
void Run::know(Place place, const Place* sender)
{
    std::vector<bool>& own = begun_[place.rank][place.node];
    const std::vector<bool>& more = begun_[sender->rank][sender->node];
    for (std::size_t i = 0; i < own.size(); ++i) {
        own[i] = own[i] || more[i];
    }
}

void Run::complete(Place place)
{
    --remaining_;
    Rank& state = ranks_[place.rank];
    --state.remaining;
    for (const Graph::NodeIndex next : orders_[place.rank].after(place.node)) {
        if (contract_.is_barrier) {
            know({place.rank, next}, &place);
        }
        if (--state.waiting[next] == 0) {
            ready_.push_back({place.rank, next});
        }
    }
}

std::optional<std::string> Run::explain_standstill() const
{
    for (const auto& ends : waiting_) {
        for (const auto& [name, waiting] : ends) {
            const Place place = waiting.ends[waiting.taken];
            const GraphNode& step = node_at(place);
            const Graph& theirs = graphs_[step.peer];
            bool has_other_end = false;
            for (Graph::NodeIndex node = 0; node < theirs.nodes().size(); ++node) {
                const GraphNode& other = theirs.nodes()[node];
                has_other_end =
                    has_other_end ||
                    (is_message(other.kind) && leaves(other.kind) != leaves(step.kind) &&
                     other.slot == step.slot && other.peer == place.rank &&
                     ranks_[step.peer].waiting[node] != 0);
            }
            if (!has_other_end) {
                return say(place) + ", of block " +
                       std::to_string((leaves(step.kind) ? step.source : step.target).first_block) +
                       ", has no other end";
            }
        }
    }
    for (const auto& [name, waiting] : waiting_[0]) {
        return say(waiting.ends[waiting.taken]) + ", of block " +
               std::to_string(node_at(waiting.ends[waiting.taken]).source.first_block) +
               ", waits for ever where messages are not buffered: its receive waits for it in turn";
    }
    for (const auto& [name, waiting] : waiting_[1]) {
        return say(waiting.ends[waiting.taken]) + ", of block " +
               std::to_string(node_at(waiting.ends[waiting.taken]).target.first_block) +
               ", waits for ever: its send waits for it in turn";
    }
    return "some nodes never start";
}

std::optional<std::string> Run::compare_block(std::uint32_t rank, std::uint32_t block)
{
    const ReceiveBlock& wanted = contract_.ranks[rank].receive[block];
    const auto found = ranks_[rank].values[contract_.ranks[rank].send.size() + block];
    switch (wanted.wanted) {
        case Wanted::untouched:
            return ranks_[rank].is_written[block]
                       ? std::optional<std::string>("was written, but must be left alone")
                       : std::nullopt;
        case Wanted::input:
            return expressions_.compare_input(found, wanted.origin);
        case Wanted::combined:
            break;
    }
    if (auto fault = expressions_.compare_combined(found, wanted.origin, wanted.count,
                                                   contract_.is_ordered)) {
        return fault;
    }
    if (!contract_.is_equal_on_all) {
        return std::nullopt;
    }
    const std::uint32_t model = rank < contract_.equal_from ? 0 : contract_.equal_from;
    const auto theirs = ranks_[model].values[contract_.ranks[model].send.size() + block];
    if (found != theirs) {
        return "is combined in another way than that of " + of_rank(model) +
               ", so that it may differ in its last bits";
    }
    return std::nullopt;
}

std::optional<std::string> Run::compare_barrier() const
{
    for (std::uint32_t rank = 0; rank < graphs_.size(); ++rank) {
        std::vector<bool> begun(graphs_.size());
        begun[rank] = true;
        for (const std::vector<bool>& known : begun_[rank]) {
            for (std::size_t i = 0; i < begun.size(); ++i) {
                begun[i] = begun[i] || known[i];
            }
        }
        const auto missing = std::ranges::find(begun, false);
        if (missing != begun.end()) {
            return of_rank(rank) + ": node " +
                   std::to_string(
                       graphs_[rank].nodes().empty() ? 0 : graphs_[rank].nodes().size() - 1) +
                   " and all others can be over, and no block of a message says it, before " +
                   of_rank(static_cast<std::uint32_t>(missing - begun.begin())) + " has begun";
        }
    }
    return std::nullopt;
}

std::optional<std::string> Run::compare()
{
    for (std::uint32_t rank = 0; rank < graphs_.size(); ++rank) {
        const auto blocks = static_cast<std::uint32_t>(contract_.ranks[rank].receive.size());
        for (std::uint32_t block = 0; block < blocks; ++block) {
            if (auto fault = compare_block(rank, block)) {
                return of_rank(rank) + ": block " + std::to_string(block) + " of receive " + *fault;
            }
        }
    }
    return contract_.is_barrier ? compare_barrier() : std::nullopt;
}

}  // namespace

std::string of_rank(std::uint32_t rank)
{
    return "rank " + std::to_string(rank);
}

std::string_view name_of(Space space)
{
    switch (space) {
        case Space::send:
            return "send";
        case Space::receive:
            return "receive";
        case Space::scratch:
            break;
    }
    return "scratch";
}

std::string describe(const Graph& graph, Graph::NodeIndex node)
{
    const GraphNode& step = graph.nodes()[node];
    std::string text = "node " + std::to_string(node) + " (" + std::string(name_of(step.kind));
    if (is_message(step.kind) || reads_peer(step.kind)) {
        text += " rank " + std::to_string(step.peer);
    }
    if (is_message(step.kind)) {
        text += " in slot " + std::to_string(step.slot);
    }
    return text + ")";
}

Verdict verify(std::span<const Graph> graphs, const Contract& contract)
{
    std::vector<GraphOrder> orders;
    orders.reserve(graphs.size());
    RankProof proof;
    for (std::uint32_t rank = 0; rank < graphs.size(); ++rank) {
        const Graph& graph = graphs[rank];
        if (graph.blocks != contract.blocks ||
            (graph.blocks == engine::Blocks::split && graph.block_count != contract.block_count)) {
            return {of_rank(rank) + ": cuts the vector into blocks in another way than rank 0", {}};
        }
        orders.emplace_back(graph);
        if (auto fault = proof.examine(graph, orders.back(), contract, rank)) {
            return {of_rank(rank) + ": " + *fault, {}};
        }
    }
    if (has_peer_reads(graphs)) {
        if (auto fault = examine_peer_extents(graphs, contract)) {
            return {std::move(fault), {}};
        }
    }
    Run run(graphs, orders, contract);
    if (auto fault = run.run()) {
        return {std::move(fault), {}};
    }
    if (auto fault = examine_peer_reads(graphs, orders, contract, run.meetings())) {
        return {std::move(fault), {}};
    }
    if (auto fault = run.compare()) {
        return {std::move(fault), {}};
    }
    return {std::nullopt, run.traffic()};
}

}  // namespace headway::study
