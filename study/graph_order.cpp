// SPDX-License-Identifier: Apache-2.0
#include "study/graph_order.hpp"

namespace headway::study {

void GraphOrder::assign(const engine::Graph& graph)
{
    const std::size_t nodes = graph.nodes().size();
    after_.resize(graph.edges().size());
    first_.assign(nodes + 1, 0);
    into_.assign(nodes, 0);
    words_ = (nodes + 63) / 64;
    for (const engine::Graph::Edge& edge : graph.edges()) {
        ++first_[edge.before + 1];
        ++into_[edge.after];
    }
    for (std::size_t node = 1; node < first_.size(); ++node) {
        first_[node] += first_[node - 1];
    }
    left_.assign(first_.begin(), first_.end() - 1);
    for (const engine::Graph::Edge& edge : graph.edges()) {
        after_[left_[edge.before]++] = edge.after;
    }
    left_ = into_;
    sorted_.clear();
    for (NodeIndex node = 0; node < nodes; ++node) {
        if (into_[node] == 0) {
            sorted_.push_back(node);
        }
    }
    for (std::size_t next = 0; next < sorted_.size(); ++next) {
        for (const NodeIndex node : after(sorted_[next])) {
            if (--left_[node] == 0) {
                sorted_.push_back(node);
            }
        }
    }
    if (sorted_.size() == nodes) {
        close();
    }
}

void GraphOrder::close()
{
    before_.assign(into_.size() * words_, 0);
    for (const NodeIndex node : sorted_) {
        std::uint64_t* const own = &before_[node * words_];
        for (const NodeIndex next : after(node)) {
            std::uint64_t* const theirs = &before_[next * words_];
            for (std::size_t word = 0; word < words_; ++word) {
                theirs[word] |= own[word];
            }
            theirs[node / 64] |= std::uint64_t{1} << (node % 64);
        }
    }
}

}  // namespace headway::study
