// SPDX-License-Identifier: Apache-2.0
#include "study/graph_order.hpp"

namespace headway::study {

GraphOrder::GraphOrder(const engine::Graph& graph)
    : after_(graph.edges().size()),
      first_(graph.nodes().size() + 1),
      into_(graph.nodes().size()),
      words_((graph.nodes().size() + 63) / 64)
{
    for (const engine::Graph::Edge& edge : graph.edges()) {
        ++first_[edge.before + 1];
        ++into_[edge.after];
    }
    for (std::size_t node = 1; node < first_.size(); ++node) {
        first_[node] += first_[node - 1];
    }
    std::vector<std::uint32_t> filled(first_.begin(), first_.end() - 1);
    for (const engine::Graph::Edge& edge : graph.edges()) {
        after_[filled[edge.before]++] = edge.after;
    }
    std::vector<std::uint32_t> waiting = into_;
    sorted_.reserve(into_.size());
    for (NodeIndex node = 0; node < into_.size(); ++node) {
        if (waiting[node] == 0) {
            sorted_.push_back(node);
        }
    }
    for (std::size_t next = 0; next < sorted_.size(); ++next) {
        for (const NodeIndex node : after(sorted_[next])) {
            if (--waiting[node] == 0) {
                sorted_.push_back(node);
            }
        }
    }
    if (sorted_.size() == into_.size()) {
        close();
    }
}

void GraphOrder::close()
{
    before_.resize(into_.size() * words_);
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
