// SPDX-License-Identifier: Apache-2.0
#include "study/peer_proof.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "study/rank_proof.hpp"

namespace headway::study {

using engine::Extent;
using engine::Graph;
using engine::GraphNode;
using engine::NodeKind;
using engine::Space;

namespace {

std::string say(std::span<const Graph> graphs, std::uint32_t rank, Graph::NodeIndex node)
{
    return of_rank(rank) + ": " + describe(graphs[rank], node);
}

std::string say(Extent extent, std::uint32_t rank)
{
    return "block " + std::to_string(extent.first_block) + " of " +
           std::string(name_of(extent.space)) + " of " + of_rank(rank);
}

/// What a node writes. In a call whose spaces may share their bytes, a write to receive is one to
/// all of send.
bool writes(const GraphNode& step, Extent extent, bool do_spaces_overlap)
{
    if (!has_target(step.kind) || step.target.block_count == 0) {
        return false;
    }
    if (step.target.space != extent.space) {
        return do_spaces_overlap && step.target.space == Space::receive &&
               extent.space == Space::send;
    }
    return step.target.first_block < extent.first_block + extent.block_count &&
           extent.first_block < step.target.first_block + step.target.block_count;
}

/// The messages of a run, by the ranks at their ends.
class Meetings {
  public:
    Meetings(std::size_t ranks, std::span<const Met> all) : ranks_(ranks), by_pair_(ranks * ranks)
    {
        for (const Met& met : all) {
            by_pair_[met.from * ranks_ + met.to].push_back(met);
        }
    }
    std::span<const Met> between(std::uint32_t from, std::uint32_t to) const
    {
        return by_pair_[from * ranks_ + to];
    }

  private:
    std::size_t ranks_;
    std::vector<std::vector<Met>> by_pair_;
};

/// One node that reads a peer's space, among the messages of the two ranks.
class Reading {
  public:
    Reading(std::span<const Graph> graphs, std::span<const GraphOrder> orders,
            const Meetings& meetings, std::uint32_t rank, Graph::NodeIndex node)
        : graphs_(graphs),
          orders_(orders),
          rank_(rank),
          node_(node),
          peer_(graphs[rank].nodes()[node].peer)
    {
        for (const Met& met : meetings.between(peer_, rank)) {
            if (graphs[peer_].nodes()[met.leaving].kind == NodeKind::publish &&
                orders[rank].is_before(met.arriving, node)) {
                published_.push_back(met.leaving);
            }
        }
        for (const Met& met : meetings.between(rank, peer_)) {
            if (orders[rank].is_before(node, met.leaving)) {
                told_.push_back(met.arriving);
            }
        }
    }

    std::optional<std::string> examine(bool do_spaces_overlap) const
    {
        const Extent source = graphs_[rank_].nodes()[node_].source;
        if (published_.empty()) {
            return say(graphs_, rank_, node_) + " reads " + say(source, peer_) +
                   " and has not waited for that rank to publish it";
        }
        if (told_.empty()) {
            return say(graphs_, rank_, node_) + " reads " + say(source, peer_) +
                   " and does not tell that rank when it has, so it may be gone";
        }
        const std::span<const GraphNode> theirs = graphs_[peer_].nodes();
        for (Graph::NodeIndex other = 0; other < theirs.size(); ++other) {
            if (writes(theirs[other], source, do_spaces_overlap) && !is_ordered(other)) {
                return say(graphs_, rank_, node_) + " and " + say(graphs_, peer_, other) +
                       " touch " + say(source, peer_) + " at once: no message orders them";
            }
        }
        return std::nullopt;
    }

  private:
    bool is_ordered(Graph::NodeIndex writer) const
    {
        const GraphOrder& theirs = orders_[peer_];
        const auto is_written_before = [&](Graph::NodeIndex publish) {
            return theirs.is_before(writer, publish);
        };
        const auto is_read_before = [&](Graph::NodeIndex told) {
            return theirs.is_before(told, writer);
        };
        return std::ranges::any_of(published_, is_written_before) ||
               std::ranges::any_of(told_, is_read_before);
    }

    std::span<const Graph> graphs_;
    std::span<const GraphOrder> orders_;
    std::uint32_t rank_;
    Graph::NodeIndex node_;
    std::uint32_t peer_;
    std::vector<Graph::NodeIndex> published_;  ///< nodes of the peer
    std::vector<Graph::NodeIndex> told_;       ///< likewise
};

/// Calls `use(rank, node)` for each node that reads a peer's space, until it finds a fault.
template <typename Use>
std::optional<std::string> for_each_read(std::span<const Graph> graphs, const Use& use)
{
    for (std::uint32_t rank = 0; rank < graphs.size(); ++rank) {
        for (Graph::NodeIndex node = 0; node < graphs[rank].nodes().size(); ++node) {
            if (reads_peer(graphs[rank].nodes()[node].kind)) {
                if (auto fault = use(rank, node)) {
                    return fault;
                }
            }
        }
    }
    return std::nullopt;
}

}  // namespace

bool has_peer_reads(std::span<const Graph> graphs)
{
    return std::ranges::any_of(graphs, [](const Graph& graph) {
        return std::ranges::any_of(graph.nodes(),
                                   [](const GraphNode& step) { return reads_peer(step.kind); });
    });
}

std::optional<std::string> examine_peer_extents(std::span<const Graph> graphs,
                                                const Contract& contract)
{
    return for_each_read(
        graphs, [&](std::uint32_t rank, Graph::NodeIndex node) -> std::optional<std::string> {
            const GraphNode& step = graphs[rank].nodes()[node];
            const RankContract& theirs = contract.ranks[step.peer];
            const std::uint64_t room =
                BlockNumbers(graphs[step.peer], theirs).count(step.source.space);
            if (std::uint64_t{step.source.first_block} + step.source.block_count > room) {
                return say(graphs, rank, node) + " reads " + say(step.source, step.peer) +
                       ", and there are " + std::to_string(room);
            }
            if (step.source.block_count != step.target.block_count) {
                return say(graphs, rank, node) + " takes " +
                       std::to_string(step.source.block_count) + " blocks to " +
                       std::to_string(step.target.block_count);
            }
            if (contract.has_listed_blocks) {
                return say(graphs, rank, node) +
                       " reads a peer whose blocks are listed, but only that "
                       "rank knows where they lie";
            }
            const auto other =
                find_other_size(theirs, step.source, contract.ranks[rank], step.target);
            if (other) {
                return say(graphs, rank, node) + " takes " + say(step.source, step.peer) +
                       " to block " + std::to_string(step.target.first_block + *other) + " of " +
                       std::string(name_of(step.target.space)) + ", which may have another size";
            }
            return std::nullopt;
        });
}

std::optional<std::string> examine_peer_reads(std::span<const Graph> graphs,
                                              std::span<const GraphOrder> orders,
                                              const Contract& contract,
                                              std::span<const Met> meetings)
{
    if (!has_peer_reads(graphs)) {
        return std::nullopt;
    }
    const Meetings all(graphs.size(), meetings);
    return for_each_read(graphs, [&](std::uint32_t rank, Graph::NodeIndex node) {
        return Reading(graphs, orders, all, rank, node).examine(contract.do_spaces_overlap);
    });
}

}  // namespace headway::study
