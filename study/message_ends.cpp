// SPDX-License-Identifier: Apache-2.0
#include "study/message_ends.hpp"

#include <algorithm>

namespace headway::study {

void MessageEnds::clear()
{
    names_.clear();
    nodes_.clear();
    names_begin_.clear();
    arrive_begin_.clear();
    first_.clear();
    others_.clear();
}

std::optional<std::pair<MessageEnds::NodeIndex, MessageEnds::NodeIndex>> MessageEnds::add(
    const engine::Graph& graph, const GraphOrder& order)
{
    const std::size_t begin = names_.size();
    names_begin_.push_back(begin);
    first_.push_back(others_.size());
    others_.resize(others_.size() + graph.nodes().size(), {nobody, 0});
    std::size_t leaving = 0;
    for (std::uint32_t place = 0; place < order.sorted().size(); ++place) {
        const engine::GraphNode& step = graph.nodes()[order.sorted()[place]];
        if (engine::is_message(step.kind)) {
            const bool does_arrive = engine::arrives(step.kind);
            leaving += does_arrive ? 0 : 1;
            names_.push_back(Name{does_arrive} << 63 | Name{step.peer} << (place_bits + 16) |
                             Name{step.slot} << place_bits | place);
        }
    }
    arrive_begin_.push_back(begin + leaving);
    std::sort(names_.begin() + static_cast<std::ptrdiff_t>(begin), names_.end());
    constexpr Name place_mask = (Name{1} << place_bits) - 1;
    for (std::size_t i = begin; i < names_.size(); ++i) {
        nodes_.push_back(order.sorted()[names_[i] & place_mask]);
        if (i != begin && names_[i - 1] >> place_bits == names_[i] >> place_bits &&
            !order.is_before(nodes_[i - 1], nodes_[i])) {
            return std::pair{nodes_[i - 1], nodes_[i]};
        }
    }
    return std::nullopt;
}

// What arrives at a rank is sorted by who sent it, so each rank's part is gone through once while
// the senders take their turns.
void MessageEnds::match()
{
    const auto ranks = static_cast<std::uint32_t>(first_.size());
    names_begin_.push_back(names_.size());
    std::vector<std::size_t> next = arrive_begin_;
    for (std::uint32_t from = 0; from < ranks; ++from) {
        for (std::size_t i = names_begin_[from]; i < arrive_begin_[from]; ++i) {
            const Name slot = names_[i] >> place_bits & 0xFFFF;
            const auto to = static_cast<std::uint32_t>(names_[i] >> (place_bits + 16));
            const Name wanted = Name{1} << 33 | Name{from} << 16 | slot;
            std::size_t& other = next[to];
            while (other < names_begin_[to + 1] && names_[other] >> place_bits < wanted) {
                ++other;
            }
            if (other < names_begin_[to + 1] && names_[other] >> place_bits == wanted) {
                others_[first_[from] + nodes_[i]] = {to, nodes_[other]};
                others_[first_[to] + nodes_[other]] = {from, nodes_[i]};
                ++other;
            }
        }
    }
}

}  // namespace headway::study
