// SPDX-License-Identifier: Apache-2.0
//
// Executes the graphs of all ranks of a collective on symbols instead of bytes, in an order drawn
// by seed: any node that may start may be the next, a send may leave at once or wait for its
// receive, and messages that are under way arrive in any order (those of one name in theirs).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/graph.hpp"

namespace headway::protocol::coll {

/// One element: which one it is of its rank's input, and the ranks that are combined in it, in
/// order. Nobody: it was never written.
struct Symbol {
    std::uint32_t element = 0;
    std::u16string contributors;

    bool operator==(const Symbol&) const = default;
};

using Symbols = std::vector<Symbol>;

/// `element` of the input of `rank`.
inline Symbol symbol_of(std::uint32_t rank, std::uint32_t element)
{
    return {element, std::u16string(1, static_cast<char16_t>(rank))};
}

class SymbolicRun {
  public:
    /// `count` as in engine::GraphArguments. All spaces but scratch start without room.
    SymbolicRun(std::vector<engine::Graph> graphs, std::uint32_t count, std::uint32_t seed)
        : graphs_(std::move(graphs)), dice_(seed)
    {
        for (const engine::Graph& graph : graphs_) {
            Rank rank;
            rank.layout = {graph.blocks, graph.block_count, 1, count};
            rank.spaces[2].resize(rank.layout.element_offset(graph.scratch_blocks));
            rank.waiting.resize(graph.nodes().size());
            rank.successors.resize(graph.nodes().size());
            for (const engine::Graph::Edge& edge : graph.edges()) {
                ++rank.waiting[edge.after];
                rank.successors[edge.before].push_back(edge.after);
            }
            rank.remaining = graph.nodes().size();
            ranks_.push_back(std::move(rank));
        }
    }

    Symbols& space(std::uint32_t rank, engine::Space space)
    {
        return ranks_[rank].spaces[static_cast<std::size_t>(space)];
    }

    /// What every rank but `late` can do while that one has not begun (none: all begin).
    void run_without(std::uint32_t late)
    {
        for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
            for (std::uint32_t node = 0; rank != late && node < ranks_[rank].waiting.size();
                 ++node) {
                if (ranks_[rank].waiting[node] == 0) {
                    events_.push_back({EventKind::start, rank, node, {}});
                }
            }
        }
        while (!events_.empty()) {
            std::swap(events_[dice_() % events_.size()], events_.back());
            Event event = std::move(events_.back());
            events_.pop_back();
            if (event.kind == EventKind::start) {
                start(event.rank, event.node);
            } else {
                deliver(event);
            }
        }
    }
    void run() { run_without(static_cast<std::uint32_t>(ranks_.size())); }

    bool is_complete(std::uint32_t rank) const { return ranks_[rank].remaining == 0; }

    /// One line for each thing that must not happen; deadlock and unmatched messages included.
    std::vector<std::string> faults() const
    {
        std::vector<std::string> all = faults_;
        for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
            if (!is_complete(rank)) {
                all.push_back("rank " + std::to_string(rank) + " never ends");
            }
        }
        for (const auto& [name, channel] : channels_) {
            if (!channel.sends.empty() || !channel.receives.empty()) {
                all.push_back("a message from " + std::to_string(std::get<0>(name)) + " to " +
                              std::to_string(std::get<1>(name)) + " in slot " +
                              std::to_string(std::get<2>(name)) + " has one end only");
            }
        }
        return all;
    }

  private:
    using Name = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>;  ///< from, to, slot

    struct Rank {
        engine::BlockLayout layout;
        Symbols spaces[3];
        std::vector<std::uint32_t> waiting;
        std::vector<std::vector<std::uint32_t>> successors;
        std::size_t remaining = 0;
    };
    /// A started send; once the payload is copied out, the node is complete.
    struct Message {
        std::uint32_t rank = 0;
        std::uint32_t node = 0;
        bool is_copied_out = false;
        Symbols payload;
    };
    struct Channel {
        std::deque<Message> sends;
        std::deque<std::uint32_t> receives;
    };
    enum class EventKind : std::uint8_t { start, arrival };
    struct Event {
        EventKind kind = EventKind::start;
        std::uint32_t rank = 0;
        std::uint32_t node = 0;
        Message message;  ///< arrival only
    };

    const engine::GraphNode& node_of(std::uint32_t rank, std::uint32_t node) const
    {
        return graphs_[rank].nodes()[node];
    }

    void fault(std::uint32_t rank, std::uint32_t node, const char* what)
    {
        faults_.push_back("rank " + std::to_string(rank) + " node " + std::to_string(node) + ": " +
                          what);
    }

    void complete(std::uint32_t rank, std::uint32_t node)
    {
        Rank& state = ranks_[rank];
        --state.remaining;
        for (const std::uint32_t next : state.successors[node]) {
            if (--state.waiting[next] == 0) {
                events_.push_back({EventKind::start, rank, next, {}});
            }
        }
    }

    /// The elements of an extent, or null if it leaves its space.
    Symbol* find(std::uint32_t rank, std::uint32_t node, engine::Extent extent)
    {
        Rank& state = ranks_[rank];
        Symbols& room = state.spaces[static_cast<std::size_t>(extent.space)];
        const std::uint64_t first = state.layout.element_offset(extent.first_block);
        if (first + state.layout.elements(extent) > room.size()) {
            fault(rank, node, "leaves its buffer");
            return nullptr;
        }
        return room.data() + first;
    }

    Symbols read(std::uint32_t rank, std::uint32_t node, engine::Extent extent)
    {
        const Symbol* from = find(rank, node, extent);
        if (from == nullptr) {
            return {};
        }
        Symbols values(from, from + ranks_[rank].layout.elements(extent));
        for (const Symbol& value : values) {
            if (value.contributors.empty()) {
                fault(rank, node, "reads what nobody has written");
                break;
            }
        }
        return values;
    }

    void write(std::uint32_t rank, std::uint32_t node, engine::Extent extent, const Symbols& values)
    {
        Symbol* to = find(rank, node, extent);
        if (to == nullptr) {
            return;
        }
        if (values.size() != ranks_[rank].layout.elements(extent)) {
            fault(rank, node, "gets more or less than it has room for");
            return;
        }
        if (extent.space == engine::Space::send && !values.empty()) {
            fault(rank, node, "writes to the input");
        }
        std::copy(values.begin(), values.end(), to);
    }

    Symbols payload_of(std::uint32_t rank, std::uint32_t node, const engine::GraphNode& step)
    {
        return step.kind == engine::NodeKind::send ? read(rank, node, step.source) : Symbols{};
    }

    /// A peer that has ended has its memory back.
    std::uint32_t owner_of_source(std::uint32_t rank, const engine::GraphNode& step)
    {
        if (!reads_peer(step.kind)) {
            return rank;
        }
        if (is_complete(step.peer)) {
            faults_.push_back("rank " + std::to_string(rank) + " reads rank " +
                              std::to_string(step.peer) + ", which has ended");
        }
        return step.peer;
    }

    void reduce(std::uint32_t rank, std::uint32_t node)
    {
        const engine::GraphNode& step = node_of(rank, node);
        Symbols values = read(owner_of_source(rank, step), node, step.source);
        const Symbols higher = read(rank, node, step.target);
        if (values.size() != higher.size()) {
            fault(rank, node, "combines vectors of unequal length");
            return;
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (values[i].element != higher[i].element) {
                fault(rank, node, "combines different elements");
            }
            values[i].contributors += higher[i].contributors;
        }
        write(rank, node, step.target, values);
    }

    void start(std::uint32_t rank, std::uint32_t node)
    {
        const engine::GraphNode& step = node_of(rank, node);
        switch (step.kind) {
            case engine::NodeKind::copy:
            case engine::NodeKind::peer_copy:
                write(rank, node, step.target,
                      read(owner_of_source(rank, step), node, step.source));
                complete(rank, node);
                return;
            case engine::NodeKind::reduce:
            case engine::NodeKind::peer_reduce:
                reduce(rank, node);
                complete(rank, node);
                return;
            case engine::NodeKind::send:
            case engine::NodeKind::receive:
            case engine::NodeKind::publish:
            case engine::NodeKind::wait:
                break;
        }
        if (step.peer >= ranks_.size() || step.peer == rank) {
            fault(rank, node, "has a peer that is nobody else");
            return;
        }
        if (engine::arrives(step.kind)) {
            meet({step.peer, rank, step.slot}).receives.push_back(node);
            join({step.peer, rank, step.slot});
            return;
        }
        Message message{rank, node, dice_() % 2 == 0, {}};
        if (message.is_copied_out) {
            message.payload = payload_of(rank, node, step);
        }
        const bool is_over = message.is_copied_out;
        meet({rank, step.peer, step.slot}).sends.push_back(std::move(message));
        join({rank, step.peer, step.slot});
        if (is_over) {
            complete(rank, node);
        }
    }

    Channel& meet(const Name& name) { return channels_[name]; }

    void join(const Name& name)
    {
        Channel& channel = channels_[name];
        if (!channel.sends.empty() && !channel.receives.empty()) {
            events_.push_back({EventKind::arrival, std::get<1>(name), channel.receives.front(),
                               std::move(channel.sends.front())});
            channel.sends.pop_front();
            channel.receives.pop_front();
        }
    }

    void deliver(Event& event)
    {
        Message& message = event.message;
        if (!message.is_copied_out) {
            message.payload =
                payload_of(message.rank, message.node, node_of(message.rank, message.node));
            complete(message.rank, message.node);
        }
        if (node_of(event.rank, event.node).kind == engine::NodeKind::receive) {
            write(event.rank, event.node, node_of(event.rank, event.node).target, message.payload);
        }
        complete(event.rank, event.node);
    }

    std::vector<engine::Graph> graphs_;
    std::minstd_rand dice_;
    std::vector<Rank> ranks_;
    std::map<Name, Channel> channels_;
    std::vector<Event> events_;
    std::vector<std::string> faults_;
};

}  // namespace headway::protocol::coll
