// SPDX-License-Identifier: Apache-2.0
// The order that the edges of one rank's graph impose on its nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph.hpp"

namespace headway::study {

class GraphOrder {
  public:
    using NodeIndex = engine::Graph::NodeIndex;

    GraphOrder() = default;
    explicit GraphOrder(const engine::Graph& graph) { assign(graph); }
    /// Becomes that of another graph; keeps its memory.
    void assign(const engine::Graph& graph);

    /// The nodes, each after all before it. Shorter than the graph if that has a cycle.
    std::span<const NodeIndex> sorted() const noexcept { return sorted_; }
    /// Also of nodes on a cycle: how many edges lead to a node.
    std::uint32_t edges_into(NodeIndex node) const noexcept { return into_[node]; }
    std::span<const NodeIndex> after(NodeIndex node) const noexcept
    {
        return {after_.data() + first_[node], first_[node + 1] - first_[node]};
    }

    /// `first` completes before `second` starts. Requires: no cycle.
    bool is_before(NodeIndex first, NodeIndex second) const noexcept
    {
        return (before_[second * words_ + first / 64] >> (first % 64) & 1U) != 0;
    }

  private:
    void close();

    std::vector<NodeIndex> sorted_;
    std::vector<NodeIndex> after_;      ///< all edges by their start
    std::vector<std::uint32_t> first_;  ///< by node: where its part of after_ begins
    std::vector<std::uint32_t> into_;
    std::vector<std::uint32_t> left_;  ///< by node, while it sorts
    std::size_t words_ = 0;
    std::vector<std::uint64_t> before_;  ///< by node a set of nodes, of words_ words
};

}  // namespace headway::study
