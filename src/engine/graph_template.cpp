// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/graph_engine.hpp"
#include "engine/graph_instance.hpp"

namespace headway::engine {

namespace {

/// How often each block of scratch is read, if only to be combined with.
class ScratchReads {
  public:
    explicit ScratchReads(const GraphTemplate& stored) : counts_(stored.scratch_blocks)
    {
        for (std::uint32_t index = 0; index < stored.node_count; ++index) {
            const GraphNode& node = stored.nodes[index];
            if (has_own_source(node.kind)) {
                add(node.source);
            }
            if (node.kind == NodeKind::reduce || node.kind == NodeKind::peer_reduce) {
                add(node.target);
            }
        }
    }

    bool is_read_once(const Extent& extent) const
    {
        const auto blocks = blocks_of(extent);
        return extent.space == Space::scratch &&
               std::ranges::all_of(blocks, [](std::uint32_t reads) { return reads == 1; });
    }

  private:
    void add(const Extent& extent)
    {
        if (extent.space == Space::scratch) {
            for (std::uint32_t& reads : blocks_of(extent)) {
                ++reads;
            }
        }
    }
    std::span<std::uint32_t> blocks_of(const Extent& extent)
    {
        return std::span(counts_).subspan(extent.first_block, extent.block_count);
    }
    std::span<const std::uint32_t> blocks_of(const Extent& extent) const
    {
        return std::span(counts_).subspan(extent.first_block, extent.block_count);
    }

    std::vector<std::uint32_t> counts_;
};

/// Whether the reduction, which alone follows the receive, may take what arrives as it comes: in
/// the place where it would land, or out of scratch that nobody else looks at.
bool may_combine(const GraphNode& arrival, const GraphNode& after, const ScratchReads& reads)
{
    return after.kind == NodeKind::reduce &&
           (after.target == arrival.target ||
            (after.source == arrival.target && reads.is_read_once(arrival.target)));
}

void find_combined(GraphTemplate& stored)
{
    const ScratchReads reads(stored);
    for (std::uint32_t index = 0; index < stored.node_count; ++index) {
        const std::uint32_t first = stored.first_successor[index];
        const bool is_followed_by_one = stored.first_successor[index + 1] == first + 1;
        // What peers read has to be stored.
        const bool combines =
            !stored.publishes && is_followed_by_one &&
            stored.nodes[index].kind == NodeKind::receive &&
            may_combine(stored.nodes[index], stored.nodes[stored.successors[first]], reads);
        stored.combined_with[index] = combines ? stored.successors[first] : stored.node_count;
    }
}

/// Numbers the peers that are waited for, in the order in which nodes name them first.
std::uint32_t number_peers(const Graph& graph, std::vector<std::uint32_t>& numbers)
{
    std::unordered_map<std::uint32_t, std::uint32_t> known;
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
        const GraphNode& node = graph.nodes()[i];
        if (node.kind == NodeKind::wait || reads_peer(node.kind)) {
            const auto next = static_cast<std::uint32_t>(known.size());
            numbers[i] = known.try_emplace(node.peer, next).first->second;
        }
    }
    return static_cast<std::uint32_t>(known.size());
}

}  // namespace

GraphTemplate* store_graph(memory::Allocator& allocator, const Graph& graph)
{
    const std::size_t nodes = graph.nodes().size();
    const std::size_t edges = graph.edges().size();
    const std::size_t node_bytes = (nodes * sizeof(GraphNode) + 7) & ~std::size_t{7};
    std::vector<std::uint32_t> peer_numbers(nodes);
    const std::uint32_t peer_count = number_peers(graph, peer_numbers);
    const std::size_t words = (nodes + 1) + edges + (peer_count != 0 ? 3 : 2) * nodes;
    void* place =
        allocator.allocate(sizeof(GraphTemplate) + node_bytes + words * sizeof(std::uint32_t));
    if (place == nullptr) {
        return nullptr;
    }
    auto* stored = new (place) GraphTemplate;
    stored->node_count = static_cast<std::uint32_t>(nodes);
    stored->edge_count = static_cast<std::uint32_t>(edges);
    stored->blocks = graph.blocks;
    stored->block_count = graph.block_count;
    stored->scratch_blocks = graph.scratch_blocks;
    stored->meeting = graph.meeting();
    auto* after = static_cast<std::byte*>(place) + sizeof(GraphTemplate);
    stored->nodes = reinterpret_cast<GraphNode*>(after);
    stored->first_successor = reinterpret_cast<std::uint32_t*>(after + node_bytes);
    stored->successors = stored->first_successor + nodes + 1;
    stored->dependencies = stored->successors + edges;
    stored->combined_with = stored->dependencies + nodes;
    std::memset(stored->first_successor, 0, words * sizeof(std::uint32_t));
    for (std::size_t i = 0; i < nodes; ++i) {
        new (&stored->nodes[i]) GraphNode(graph.nodes()[i]);
    }
    // Counting sort of the edges by their beginning.
    for (const Graph::Edge& edge : graph.edges()) {
        ++stored->first_successor[edge.before + 1];
        ++stored->dependencies[edge.after];
    }
    for (std::size_t i = 0; i < nodes; ++i) {
        stored->first_successor[i + 1] += stored->first_successor[i];
    }
    std::vector<std::uint32_t> next(stored->first_successor, stored->first_successor + nodes);
    for (const Graph::Edge& edge : graph.edges()) {
        stored->successors[next[edge.before]++] = edge.after;
    }
    stored->publishes = std::ranges::any_of(
        graph.nodes(), [](const GraphNode& node) { return node.kind == NodeKind::publish; });
    if (peer_count != 0) {
        stored->peer_count = peer_count;
        stored->peer_numbers = stored->combined_with + nodes;
        std::ranges::copy(peer_numbers, stored->peer_numbers);
    }
    stored->root_count =
        static_cast<std::uint32_t>(std::ranges::count(std::span(stored->dependencies, nodes), 0U));
    find_combined(*stored);
    return stored;
}

void destroy_template(memory::Allocator& allocator, GraphTemplate* stored)
{
    while (stored != nullptr && stored->idle != nullptr) {
        destroy_instance(allocator, std::exchange(stored->idle, stored->idle->next));
    }
    allocator.free(stored);
}

}  // namespace headway::engine
