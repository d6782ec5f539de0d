// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/topology.hpp"

#include <algorithm>
#include <unordered_map>

namespace headway::protocol::coll {

Topology::Topology(std::span<const std::uint32_t> node_of_rank)
    : node_of_(node_of_rank.size()),
      ranks_(node_of_rank.size()),
      first_(1),
      position_of_(node_of_rank.size()),
      run_of_(node_of_rank.size())
{
    std::unordered_map<std::uint32_t, std::uint32_t> number;
    for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
        const auto next = static_cast<std::uint32_t>(number.size());
        const std::uint32_t node = number.try_emplace(node_of_rank[rank], next).first->second;
        node_of_[rank] = node;
        first_.resize(number.size() + 1);
        ++first_[node + 1];
    }
    for (std::size_t node = 1; node < first_.size(); ++node) {
        first_[node] += first_[node - 1];
    }
    std::vector<std::uint32_t> taken(first_.begin(), first_.end() - 1);
    for (std::uint32_t rank = 0; rank < node_of_.size(); ++rank) {
        position_of_[rank] = taken[node_of_[rank]]++;
        ranks_[position_of_[rank]] = rank;
        is_contiguous_ = is_contiguous_ && position_of_[rank] == rank;
        if (rank == 0 || node_of_[rank] != node_of_[rank - 1]) {
            run_begins_.push_back(rank);
        }
        run_of_[rank] = static_cast<std::uint32_t>(run_begins_.size() - 1);
    }
    run_begins_.push_back(static_cast<std::uint32_t>(node_of_.size()));
}

std::uint32_t Topology::largest_node() const noexcept
{
    std::uint32_t largest = 0;
    for (std::uint32_t node = 0; node < node_count(); ++node) {
        largest = std::max(largest, first_[node + 1] - first_[node]);
    }
    return largest;
}

}  // namespace headway::protocol::coll
