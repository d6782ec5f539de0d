// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "engine/graph_engine.hpp"

namespace headway::engine {

GraphTemplate* store_graph(memory::Allocator& allocator, const Graph& graph)
{
    const std::size_t nodes = graph.nodes().size();
    const std::size_t edges = graph.edges().size();
    const std::size_t node_bytes = (nodes * sizeof(GraphNode) + 7) & ~std::size_t{7};
    const std::size_t words = (nodes + 1) + edges + nodes;
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
    return stored;
}

void destroy_template(memory::Allocator& allocator, GraphTemplate* stored)
{
    allocator.free(stored);
}

}  // namespace headway::engine
