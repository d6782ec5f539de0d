// SPDX-License-Identifier: Apache-2.0
#include "study/simulator.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "study/event_queue.hpp"

namespace headway::study {

using engine::Graph;
using engine::GraphNode;
using engine::NodeKind;

namespace {

/// One rank's graph, as far as time depends on it.
class LiveRank {
  public:
    struct Node {
        std::uint64_t bytes = 0;
        std::uint32_t peer = 0;
        std::uint32_t waiting = 0;  ///< edges whose start is not over
        std::uint16_t slot = 0;
        NodeKind kind = NodeKind::copy;
        bool is_matched = false;  ///< a receive whose message is under way
        bool is_posted = false;   ///< a receive that has started
        bool is_here = false;     ///< a receive whose message is here, or offered
    };

    LiveRank(const Graph& graph, std::uint64_t bytes);

    Node& node(std::uint32_t index) { return nodes_[index]; }
    std::uint32_t count() const { return static_cast<std::uint32_t>(nodes_.size()); }
    std::span<const std::uint32_t> after(std::uint32_t node) const
    {
        return {after_.data() + first_[node], first_[node + 1] - first_[node]};
    }
    /// The next receive of that name without a message; count() if there is none.
    std::uint32_t match(std::uint32_t peer, std::uint16_t slot);
    /// Returns whether that was the last node.
    bool end_node() { return --remaining_ == 0; }

  private:
    struct Name {
        std::uint64_t key;
        std::uint32_t node;
        bool operator<(const Name& other) const
        {
            return key != other.key ? key < other.key : node < other.node;
        }
    };
    static std::uint64_t key(std::uint32_t peer, std::uint16_t slot)
    {
        return std::uint64_t{peer} << 16 | slot;
    }

    std::vector<Node> nodes_;
    std::vector<std::uint32_t> first_;
    std::vector<std::uint32_t> after_;
    std::vector<Name> receives_;  ///< sorted
    std::uint32_t remaining_;
};

LiveRank::LiveRank(const Graph& graph, std::uint64_t bytes)
    : nodes_(graph.nodes().size()),
      first_(nodes_.size() + 1),
      after_(graph.edges().size()),
      remaining_(static_cast<std::uint32_t>(nodes_.size()))
{
    const engine::BlockLayout layout{graph.blocks, graph.block_count, 1, bytes};
    for (std::uint32_t i = 0; i < count(); ++i) {
        const GraphNode& from = graph.nodes()[i];
        const bool is_receive = arrives(from.kind);
        const bool carries = from.kind != NodeKind::publish && from.kind != NodeKind::wait;
        nodes_[i].bytes = carries ? layout.size_bytes(is_receive ? from.target : from.source) : 0;
        nodes_[i].peer = from.peer;
        nodes_[i].slot = from.slot;
        nodes_[i].kind = from.kind;
        if (is_receive) {
            receives_.push_back({key(from.peer, from.slot), i});
        }
    }
    std::ranges::sort(receives_, std::less{});
    for (const Graph::Edge& edge : graph.edges()) {
        ++first_[edge.before + 1];
        ++nodes_[edge.after].waiting;
    }
    for (std::size_t i = 1; i < first_.size(); ++i) {
        first_[i] += first_[i - 1];
    }
    std::vector<std::uint32_t> filled(first_.begin(), first_.end() - 1);
    for (const Graph::Edge& edge : graph.edges()) {
        after_[filled[edge.before]++] = edge.after;
    }
}

std::uint32_t LiveRank::match(std::uint32_t peer, std::uint16_t slot)
{
    auto found = std::lower_bound(receives_.begin(), receives_.end(), Name{key(peer, slot), 0});
    while (found != receives_.end() && found->key == key(peer, slot)) {
        if (!nodes_[found->node].is_matched) {
            nodes_[found->node].is_matched = true;
            return found->node;
        }
        ++found;
    }
    return count();
}

constexpr std::uint32_t nobody = UINT32_MAX;

class Engine {
  public:
    Engine(const Simulation& simulation, const Machine& machine);

    base::Result<Simulated> run();

  private:
    enum class Kind : std::uint8_t {
        begin,     ///< `rank` calls the collective
        complete,  ///< `node` of `rank` is over
        offer,     ///< a long message's offer is at its receiver
        leave,     ///< a message wants to leave
        enter,     ///< its first byte is at the receiver's node
        arrive,    ///< its last byte is at the receiver
    };
    struct Event {
        std::uint32_t rank;  ///< or a message
        std::uint32_t node;
        Kind kind;
    };
    struct Message {
        std::uint32_t from = 0;
        std::uint32_t sender = 0;  ///< node of `from`
        std::uint32_t to = 0;
        std::uint32_t receiver = 0;  ///< node of `to`
        std::uint64_t bytes = 0;
        std::uint16_t slot = 0;
        bool is_offered = false;
        bool is_in_node = false;
    };
    struct RankState {
        std::unique_ptr<LiveRank> live;
        Picoseconds cpu_free = 0;
    };
    /// Of a node whose ranks share its cores.
    struct Core {
        Picoseconds free = 0;
        std::uint32_t last = nobody;  ///< rank
    };

    void push(Picoseconds time, Kind kind, std::uint32_t rank, std::uint32_t node = 0)
    {
        events_.push(time, {rank, node, kind});
    }
    Picoseconds take_cpu(std::uint32_t rank, Picoseconds time)
    {
        RankState& state = ranks_[rank];
        const Picoseconds ready = std::max(state.cpu_free, now_);
        state.cpu_free = shares_cores(rank) ? take_core(rank, ready, time) : ready + time;
        return state.cpu_free;
    }
    bool shares_cores(std::uint32_t rank) const
    {
        return machine_.cores != 0 &&
               topology_.ranks_of(topology_.node_of(rank)).size() > machine_.cores;
    }
    Picoseconds take_core(std::uint32_t rank, Picoseconds ready, Picoseconds time);
    Picoseconds move_in_node(const Message& message);
    bool share_node(std::uint32_t one, std::uint32_t other) const
    {
        return topology_.node_of(one) == topology_.node_of(other);
    }
    /// What an end of a message takes of its CPU, but for bytes that both move at once.
    Picoseconds cost_of_end(std::uint32_t rank, const LiveRank::Node& step) const
    {
        const bool moves = step.bytes <= machine_.eager_bytes && share_node(rank, step.peer);
        return machine_.overhead +
               (moves ? Machine::time_of(machine_.in_node.per_byte, step.bytes) : 0);
    }
    /// From where a long message's offer and its receive are there until its bytes move.
    Picoseconds answer_time(const Message& message) const
    {
        return message.is_in_node ? machine_.offer : machine_.between_nodes.latency;
    }
    Picoseconds latency_of(const Message& message) const
    {
        return (message.is_in_node ? machine_.in_node : machine_.between_nodes).latency;
    }
    Picoseconds wire_time(const Message& message) const
    {
        return Machine::time_of(machine_.between_nodes.per_byte, message.bytes);
    }
    Picoseconds take_nic(std::vector<Picoseconds>& free, std::uint32_t rank, Picoseconds wire_time);

    void handle(const Event& event);
    void begin(std::uint32_t rank);
    void start(std::uint32_t rank, std::uint32_t node);
    void start_send(std::uint32_t rank, std::uint32_t node);
    void start_receive(std::uint32_t rank, std::uint32_t node);
    void complete(std::uint32_t rank, std::uint32_t node);
    bool find_receiver(Message& message);
    void accept_offer(std::uint32_t message);
    void leave(std::uint32_t message);
    void enter(std::uint32_t message);
    void arrive(std::uint32_t message);

    const Simulation& simulation_;
    const Machine& machine_;
    const protocol::coll::Topology& topology_;
    std::vector<RankState> ranks_;
    std::vector<Picoseconds> out_free_;  ///< by node and NIC
    std::vector<Picoseconds> in_free_;
    std::vector<Core> cores_;  ///< by node, where they are shared
    EventQueue<Event> events_;
    std::vector<Message> messages_;
    std::vector<std::uint32_t> free_messages_;
    /// Offered messages whose receive has not started, by receiver: few at a time.
    std::vector<std::vector<std::uint32_t>> offers_;
    std::uint32_t remaining_ = 0;
    Picoseconds now_ = 0;
    Simulated result_;
    bool is_lost_ = false;  ///< a message has no receive
};

Engine::Engine(const Simulation& simulation, const Machine& machine)
    : simulation_(simulation),
      machine_(machine),
      topology_(*simulation.topology),
      ranks_(topology_.by_position().size()),
      out_free_(std::size_t{topology_.node_count()} * machine.nics),
      in_free_(out_free_.size()),
      cores_(std::size_t{topology_.node_count()} * machine.cores),
      offers_(ranks_.size()),
      remaining_(static_cast<std::uint32_t>(ranks_.size()))
{
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        push(0, Kind::begin, rank);
    }
}

base::Result<Simulated> Engine::run()
{
    constexpr std::uint64_t events_a_report = 1 << 18;
    for (std::uint64_t count = 1; !events_.is_empty() && !is_lost_; ++count) {
        const auto [time, event] = events_.pop();
        now_ = time;
        handle(event);
        events_.end_event();
        if (count % events_a_report == 0 && simulation_.report_progress) {
            simulation_.report_progress(result_.messages);
        }
    }
    if (is_lost_) {
        return base::Failure{"a message has no receive; let headway-study verify say more"};
    }
    if (remaining_ != 0) {
        return base::Failure{std::to_string(remaining_) + " of " + std::to_string(ranks_.size()) +
                             " ranks never " + (remaining_ == 1 ? "ends" : "end") +
                             "; let headway-study verify say why"};
    }
    return result_;
}

void Engine::handle(const Event& event)
{
    switch (event.kind) {
        case Kind::begin:
            begin(event.rank);
            break;
        case Kind::complete:
            complete(event.rank, event.node);
            break;
        case Kind::offer:
            accept_offer(event.rank);
            break;
        case Kind::leave:
            leave(event.rank);
            break;
        case Kind::enter:
            enter(event.rank);
            break;
        case Kind::arrive:
            arrive(event.rank);
            break;
    }
}

/// A message may come before the rank has begun: they all begin at 0, but one after the other.
void Engine::begin(std::uint32_t rank)
{
    ranks_[rank].live = std::make_unique<LiveRank>(simulation_.build(rank), simulation_.bytes);
    LiveRank& live = *ranks_[rank].live;
    if (live.count() == 0) {
        ranks_[rank].live.reset();
        --remaining_;
        return;
    }
    std::vector<std::uint32_t> ready;
    for (std::uint32_t node = 0; node < live.count(); ++node) {
        if (live.node(node).waiting == 0) {
            ready.push_back(node);
        }
    }
    for (const std::uint32_t node : ready) {
        start(rank, node);
    }
}

void Engine::start(std::uint32_t rank, std::uint32_t node)
{
    const LiveRank::Node& step = ranks_[rank].live->node(node);
    switch (step.kind) {
        case NodeKind::send:
        case NodeKind::publish:
            start_send(rank, node);
            return;
        case NodeKind::receive:
        case NodeKind::wait:
            start_receive(rank, node);
            return;
        case NodeKind::copy:
        case NodeKind::reduce:
        case NodeKind::peer_copy:
        case NodeKind::peer_reduce:
            break;
    }
    double per_byte = 0;
    if (step.kind == NodeKind::copy) {
        per_byte = machine_.copy_per_byte;
    } else if (step.kind != NodeKind::peer_copy) {
        per_byte = machine_.reduce_per_byte;
    }
    if (reads_peer(step.kind)) {
        per_byte += machine_.in_node.per_byte;
    }
    push(take_cpu(rank, Machine::time_of(per_byte, step.bytes)), Kind::complete, rank, node);
}

void Engine::start_send(std::uint32_t rank, std::uint32_t node)
{
    const LiveRank::Node& step = ranks_[rank].live->node(node);
    std::uint32_t number = static_cast<std::uint32_t>(messages_.size());
    if (free_messages_.empty()) {
        messages_.emplace_back();
    } else {
        number = free_messages_.back();
        free_messages_.pop_back();
    }
    Message& message = messages_[number];
    message = {.from = rank,
               .sender = node,
               .to = step.peer,
               .receiver = 0,
               .bytes = step.bytes,
               .slot = step.slot,
               .is_offered = step.bytes > machine_.eager_bytes,
               .is_in_node = share_node(rank, step.peer)};
    const Picoseconds posted = take_cpu(rank, cost_of_end(rank, step));
    if (message.is_offered) {
        push(posted + latency_of(message), Kind::offer, number);
        return;
    }
    push(posted, Kind::complete, rank, node);
    push(posted, Kind::leave, number);
}

void Engine::start_receive(std::uint32_t rank, std::uint32_t node)
{
    LiveRank::Node& step = ranks_[rank].live->node(node);
    step.is_posted = true;
    if (!step.is_here) {
        return;
    }
    std::vector<std::uint32_t>& offers = offers_[rank];
    const auto offered = std::ranges::find_if(
        offers, [&](std::uint32_t number) { return messages_[number].receiver == node; });
    if (offered == offers.end()) {
        push(take_cpu(rank, cost_of_end(rank, step)), Kind::complete, rank, node);
        return;
    }
    push(now_ + answer_time(messages_[*offered]), Kind::leave, *offered);
    offers.erase(offered);
}

/// Nodes that become ready start at once, in the order of edges.
void Engine::complete(std::uint32_t rank, std::uint32_t node)
{
    LiveRank& live = *ranks_[rank].live;
    for (const std::uint32_t next : live.after(node)) {
        if (--live.node(next).waiting == 0) {
            start(rank, next);
        }
    }
    if (live.end_node()) {
        ranks_[rank].live.reset();
        --remaining_;
        result_.time = std::max(result_.time, now_);
    }
}

bool Engine::find_receiver(Message& message)
{
    LiveRank* const live = ranks_[message.to].live.get();
    message.receiver = live != nullptr ? live->match(message.from, message.slot) : 0;
    is_lost_ = live == nullptr || message.receiver == live->count();
    return !is_lost_;
}

void Engine::accept_offer(std::uint32_t number)
{
    Message& message = messages_[number];
    if (!find_receiver(message)) {
        return;
    }
    LiveRank::Node& receiver = ranks_[message.to].live->node(message.receiver);
    if (receiver.is_posted) {
        push(now_ + answer_time(message), Kind::leave, number);
        return;
    }
    receiver.is_here = true;
    offers_[message.to].push_back(number);
}

/// The NIC of the rank's node that is free first. Returns when the message has it.
Picoseconds Engine::take_nic(std::vector<Picoseconds>& free, std::uint32_t rank,
                             Picoseconds wire_time)
{
    const auto first = free.begin() + std::ptrdiff_t{topology_.node_of(rank)} * machine_.nics;
    const auto nic = std::min_element(first, first + machine_.nics);
    const Picoseconds begin = std::max(*nic, now_);
    *nic = begin + std::max(machine_.message_gap, wire_time);
    return begin;
}

/// Returns when the core is done on which the rank can begin first.
Picoseconds Engine::take_core(std::uint32_t rank, Picoseconds ready, Picoseconds time)
{
    const auto begin_on = [&](const Core& core) {
        const bool is_switched = core.last != rank && core.last != nobody;
        return std::max(core.free, ready) + (is_switched ? machine_.switch_time : 0);
    };
    const auto first = cores_.begin() + std::ptrdiff_t{topology_.node_of(rank)} * machine_.cores;
    const auto core =
        std::ranges::min_element(first, first + machine_.cores, std::less{}, begin_on);
    *core = {begin_on(*core) + time, rank};
    return core->free;
}

/// Returns when the bytes of a long message in a node have moved.
Picoseconds Engine::move_in_node(const Message& message)
{
    const Picoseconds duration = Machine::time_of(machine_.long_per_byte, message.bytes);
    if (shares_cores(message.to)) {
        return take_cpu(message.to, 2 * duration);
    }
    // Neither waits for the other: what one has moved lies there until the other comes to it.
    return std::max(take_cpu(message.from, duration), take_cpu(message.to, duration));
}

void Engine::leave(std::uint32_t number)
{
    Message& message = messages_[number];
    if (!message.is_offered && !find_receiver(message)) {
        return;
    }
    Picoseconds left = now_;
    if (message.is_in_node) {
        if (message.is_offered) {
            left = move_in_node(message);
        }
        push(left + machine_.in_node.latency, Kind::arrive, number);
    } else {
        const Picoseconds duration = wire_time(message);
        const Picoseconds begin = take_nic(out_free_, message.from, duration);
        left = begin + duration;
        push(begin + machine_.between_nodes.latency, Kind::enter, number);
    }
    if (message.is_offered) {
        push(left, Kind::complete, message.from, message.sender);
    }
}

void Engine::enter(std::uint32_t number)
{
    const Message& message = messages_[number];
    const Picoseconds duration = wire_time(message);
    push(take_nic(in_free_, message.to, duration) + duration, Kind::arrive, number);
}

void Engine::arrive(std::uint32_t number)
{
    Message& message = messages_[number];
    ++result_.messages;
    free_messages_.push_back(number);
    LiveRank::Node& receiver = ranks_[message.to].live->node(message.receiver);
    if (receiver.is_posted) {
        push(take_cpu(message.to, cost_of_end(message.to, receiver)), Kind::complete, message.to,
             message.receiver);
        return;
    }
    receiver.is_here = true;
}

}  // namespace

base::Result<Simulated> simulate(const Simulation& simulation, const Machine& machine)
{
    return Engine(simulation, machine).run();
}

}  // namespace headway::study
