// SPDX-License-Identifier: Apache-2.0
// Which ranks share a node: what algorithms of two levels are built by. A value, like a graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway::protocol::coll {

class Topology {
  public:
    /// From any number that is equal for exactly the ranks of one node. Nodes count in the order of
    /// their first ranks. Requires: not empty.
    explicit Topology(std::span<const std::uint32_t> node_of_rank);

    std::uint32_t node_count() const noexcept
    {
        return static_cast<std::uint32_t>(first_.size() - 1);
    }
    std::uint32_t node_of(std::uint32_t rank) const noexcept { return node_of_[rank]; }

    /// Ranks of the node that has most.
    std::uint32_t largest_node() const noexcept;

    /// The ranks of a node, ascending.
    std::span<const std::uint32_t> ranks_of(std::uint32_t node) const noexcept
    {
        return {ranks_.data() + first_[node], first_[node + 1] - first_[node]};
    }

    /// All ranks, node after node; `first_position` says where a node's begin.
    std::span<const std::uint32_t> by_position() const noexcept { return ranks_; }
    std::uint32_t first_position(std::uint32_t node) const noexcept { return first_[node]; }
    std::uint32_t position_of(std::uint32_t rank) const noexcept { return position_of_[rank]; }

    /// Several nodes, and more ranks than nodes.
    bool has_levels() const noexcept { return node_count() > 1 && node_count() < ranks_.size(); }

    /// Ranks that follow each other share nodes: every rank's position is its number.
    bool is_contiguous() const noexcept { return is_contiguous_; }

    /// Runs are the longest ranges of ranks that share a node, in the order of ranks. Their number
    /// is at least that of nodes, and just that where ranks that follow each other share nodes.
    std::uint32_t run_count() const noexcept
    {
        return static_cast<std::uint32_t>(run_begins_.size() - 1);
    }
    std::uint32_t run_of(std::uint32_t rank) const noexcept { return run_of_[rank]; }
    /// The first rank of a run; of the count of runs, the number of ranks.
    std::uint32_t run_begin(std::uint32_t run) const noexcept { return run_begins_[run]; }

    /// Who speaks for a node: the root for its own one, else the first rank.
    std::uint32_t lead_of(std::uint32_t node, std::uint32_t root) const noexcept
    {
        return node == node_of_[root] ? root : ranks_[first_[node]];
    }

  private:
    std::vector<std::uint32_t> node_of_;
    std::vector<std::uint32_t> ranks_;
    std::vector<std::uint32_t> first_;  ///< by node, and one more
    std::vector<std::uint32_t> position_of_;
    std::vector<std::uint32_t> run_of_;
    std::vector<std::uint32_t> run_begins_;  ///< by run, and one more
    bool is_contiguous_ = true;
};

/// Calls `use(place, rank, count)` for each longest run of ranks that follow each other.
template <typename Use>
void for_each_run(std::span<const std::uint32_t> ranks, const Use& use)
{
    for (std::uint32_t place = 0; place < ranks.size();) {
        std::uint32_t count = 1;
        while (place + count < ranks.size() && ranks[place + count] == ranks[place] + count) {
            ++count;
        }
        use(place, ranks[place], count);
        place += count;
    }
}

}  // namespace headway::protocol::coll
