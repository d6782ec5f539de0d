// SPDX-License-Identifier: Apache-2.0
//
// Small damages to the graphs of a collective, drawn by seed.
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "study/graph_order.hpp"
#include "study/rank_proof.hpp"
#include "study/sweep.hpp"

namespace headway::study {

/// A graph that can be changed.
struct OpenGraph {
    explicit OpenGraph(const engine::Graph& graph)
        : shape(graph),
          nodes(graph.nodes().begin(), graph.nodes().end()),
          edges(graph.edges().begin(), graph.edges().end())
    {
    }

    engine::Graph close() const
    {
        engine::Graph graph;
        graph.blocks = shape.blocks;
        graph.block_count = shape.block_count;
        graph.scratch_blocks = shape.scratch_blocks;
        for (const engine::GraphNode& node : nodes) {
            switch (node.kind) {
                case engine::NodeKind::send:
                    graph.send(node.peer, node.slot, node.source);
                    break;
                case engine::NodeKind::receive:
                    graph.receive(node.peer, node.slot, node.target);
                    break;
                case engine::NodeKind::copy:
                    graph.copy(node.source, node.target);
                    break;
                case engine::NodeKind::reduce:
                    graph.reduce(node.source, node.target);
                    break;
                case engine::NodeKind::publish:
                    graph.publish(node.peer, node.slot);
                    break;
                case engine::NodeKind::wait:
                    graph.wait(node.peer, node.slot);
                    break;
                case engine::NodeKind::peer_copy:
                    graph.peer_copy(node.peer, node.source, node.target);
                    break;
                case engine::NodeKind::peer_reduce:
                    graph.peer_reduce(node.peer, node.source, node.target);
                    break;
            }
        }
        for (const engine::Graph::Edge& edge : edges) {
            graph.order(edge.before, edge.after);
        }
        return graph;
    }

    engine::Graph shape;
    std::vector<engine::GraphNode> nodes;
    std::vector<engine::Graph::Edge> edges;
};

/// What was done, and to whom.
struct Mutation {
    std::string sentence;
    std::uint32_t rank = 0;
    bool is_of_edge = false;
};

class Mutator {
  public:
    explicit Mutator(std::uint32_t seed) : dice_(seed) {}

    /// Damages `posed` in one place; nothing if the dice fell where nothing can be damaged so.
    std::optional<Mutation> mutate(Posed& posed)
    {
        const auto rank = static_cast<std::uint32_t>(dice_() % posed.graphs.size());
        OpenGraph open(posed.graphs[rank]);
        const auto done = apply(open, posed, rank);
        if (!done) {
            return std::nullopt;
        }
        posed.graphs[rank] = open.close();
        return Mutation{"rank " + std::to_string(rank) + ": " + done->first, rank, done->second};
    }

  private:
    using Done = std::optional<std::pair<std::string, bool>>;

    std::uint32_t draw(std::size_t count) { return static_cast<std::uint32_t>(dice_() % count); }

    Done apply(OpenGraph& open, Posed& posed, std::uint32_t rank)
    {
        switch (draw(8)) {
            case 0:
                return change_edge(open, posed.graphs[rank], false);
            case 1:
                return change_edge(open, posed.graphs[rank], true);
            case 2:
                return move_block(open, posed, rank);
            case 3:
                return shorten(open, posed, rank);
            case 4:
                return drop_message(open);
            case 5:
                return swap_operands(open);
            case 6:
                return rename(open, posed.graphs.size(), rank);
            default:
                return resize(open);
        }
    }

    /// Drops an edge that no others imply, or lets it start one node earlier.
    Done change_edge(OpenGraph& open, const engine::Graph& graph, bool lower)
    {
        if (open.edges.empty()) {
            return std::nullopt;
        }
        const std::uint32_t chosen = draw(open.edges.size());
        const engine::Graph::Edge edge = open.edges[chosen];
        open.edges.erase(open.edges.begin() + chosen);
        if (GraphOrder(open.close()).is_before(edge.before, edge.after)) {
            return std::nullopt;
        }
        std::string text = "edge " + std::to_string(edge.before) + " -> " +
                           std::to_string(edge.after) + " dropped";
        for (const engine::Graph::Edge& earlier : graph.edges()) {
            if (lower && earlier.after == edge.before) {
                open.edges.push_back({earlier.before, edge.after});
                text += ", now from " + std::to_string(earlier.before);
                break;
            }
        }
        return std::pair{text, true};
    }

    Done move_block(OpenGraph& open, const Posed& posed, std::uint32_t rank)
    {
        if (open.nodes.empty()) {
            return std::nullopt;
        }
        const std::uint32_t chosen = draw(open.nodes.size());
        engine::GraphNode& node = open.nodes[chosen];
        const bool has_source = has_own_source(node.kind) || reads_peer(node.kind);
        if (!has_source && !has_target(node.kind)) {
            return std::nullopt;
        }
        const bool of_source = has_source && (!has_target(node.kind) || draw(2) == 0);
        engine::Extent& extent = of_source ? node.source : node.target;
        const std::uint32_t of = of_source && reads_peer(node.kind) ? node.peer : rank;
        const std::uint32_t room =
            BlockNumbers(posed.graphs[of], posed.contract.ranks[of]).count(extent.space);
        if (extent.block_count == 0 || room <= extent.block_count) {
            return std::nullopt;
        }
        const std::uint32_t places = room - extent.block_count + 1;
        const std::uint32_t from = extent.first_block;
        extent.first_block = (from + 1 + draw(places - 1)) % places;
        return std::pair{describe(posed.graphs[rank], chosen) + ": block " + std::to_string(from) +
                             " of " + std::string(name_of(extent.space)) + " moved to " +
                             std::to_string(extent.first_block),
                         false};
    }

    /// Takes away the last block that is used of scratch, or else of receive.
    Done shorten(OpenGraph& open, Posed& posed, std::uint32_t rank)
    {
        std::uint32_t scratch = 0;
        std::uint32_t received = 0;
        const auto note = [&](engine::Extent extent) {
            const std::uint32_t end =
                extent.block_count == 0 ? 0 : extent.first_block + extent.block_count;
            if (extent.space == engine::Space::scratch) {
                scratch = std::max(scratch, end);
            } else if (extent.space == engine::Space::receive) {
                received = std::max(received, end);
            }
        };
        for (const engine::GraphNode& node : open.nodes) {
            if (has_own_source(node.kind)) {
                note(node.source);
            }
            if (has_target(node.kind)) {
                note(node.target);
            }
        }
        if (scratch != 0) {
            open.shape.scratch_blocks = scratch - 1;
            return std::pair{std::string("scratch shortened"), false};
        }
        if (received != 0) {
            posed.contract.ranks[rank].receive.resize(received - 1);
            return std::pair{std::string("receive shortened"), false};
        }
        return std::nullopt;
    }

    std::optional<std::uint32_t> choose(const OpenGraph& open, bool of_messages)
    {
        std::vector<std::uint32_t> fitting;
        for (std::uint32_t i = 0; i < open.nodes.size(); ++i) {
            const engine::NodeKind kind = open.nodes[i].kind;
            if (of_messages ? is_message(kind) : kind == engine::NodeKind::reduce) {
                fitting.push_back(i);
            }
        }
        return fitting.empty() ? std::nullopt : std::optional(fitting[draw(fitting.size())]);
    }

    Done drop_message(OpenGraph& open)
    {
        const auto chosen = choose(open, true);
        if (!chosen) {
            return std::nullopt;
        }
        constexpr engine::Extent nothing{engine::Space::scratch, 0, 0};
        open.nodes[*chosen] = {
            .kind = engine::NodeKind::copy, .source = nothing, .target = nothing};
        return std::pair{"message of node " + std::to_string(*chosen) + " dropped", false};
    }

    Done swap_operands(OpenGraph& open)
    {
        const auto chosen = choose(open, false);
        if (!chosen) {
            return std::nullopt;
        }
        std::swap(open.nodes[*chosen].source, open.nodes[*chosen].target);
        return std::pair{"operands of node " + std::to_string(*chosen) + " swapped", false};
    }

    Done rename(OpenGraph& open, std::size_t size, std::uint32_t rank)
    {
        const auto chosen = choose(open, true);
        if (!chosen) {
            return std::nullopt;
        }
        engine::GraphNode& node = open.nodes[*chosen];
        node.peer = static_cast<std::uint32_t>((node.peer + 1) % size);
        if (node.peer == rank || draw(2) == 0) {
            ++node.slot;
        }
        return std::pair{"message of node " + std::to_string(*chosen) + " renamed", false};
    }

    /// One block more or fewer in a message.
    Done resize(OpenGraph& open)
    {
        const auto chosen = choose(open, true);
        if (!chosen) {
            return std::nullopt;
        }
        engine::GraphNode& node = open.nodes[*chosen];
        if (node.kind == engine::NodeKind::publish || node.kind == engine::NodeKind::wait) {
            return std::nullopt;
        }
        engine::Extent& extent = node.kind == engine::NodeKind::send ? node.source : node.target;
        extent.block_count += extent.block_count == 0 || draw(2) == 0 ? 1 : UINT32_MAX;
        return std::pair{"message of node " + std::to_string(*chosen) + " resized", false};
    }

    std::minstd_rand dice_;
};

}  // namespace headway::study
