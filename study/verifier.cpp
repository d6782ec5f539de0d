// SPDX-License-Identifier: Apache-2.0
#include "study/verifier.hpp"

#include <utility>
#include <vector>

#include "study/block_run.hpp"

namespace headway::study {

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

struct Verifier::Memory {
    std::vector<GraphOrder> orders;
    RankProof proof;
    MessageEnds ends;
    BlockRun run;
};

Verifier::Verifier() : memory_(std::make_unique<Memory>()) {}
Verifier::~Verifier() = default;

Verdict Verifier::verify(std::span<const Graph> graphs, const Contract& contract)
{
    std::vector<GraphOrder>& orders = memory_->orders;
    orders.resize(std::max(orders.size(), graphs.size()));
    memory_->ends.clear();
    for (std::uint32_t rank = 0; rank < graphs.size(); ++rank) {
        const Graph& graph = graphs[rank];
        if (graph.blocks != contract.blocks ||
            (graph.blocks == engine::Blocks::split && graph.block_count != contract.block_count)) {
            return {of_rank(rank) + ": cuts the vector into blocks in another way than rank 0", {}};
        }
        orders[rank].assign(graph);
        if (auto fault =
                memory_->proof.examine(graph, orders[rank], contract, rank, memory_->ends)) {
            return {of_rank(rank) + ": " + *fault, {}};
        }
    }
    if (has_peer_reads(graphs)) {
        if (auto fault = examine_peer_extents(graphs, contract)) {
            return {std::move(fault), {}};
        }
    }
    memory_->ends.match();
    BlockRun& run = memory_->run;
    if (auto fault = run.run(graphs, orders, contract, memory_->ends)) {
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

Verdict verify(std::span<const Graph> graphs, const Contract& contract)
{
    return Verifier().verify(graphs, contract);
}

}  // namespace headway::study
