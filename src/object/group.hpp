// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headway::object {

/// An ordered set of processes, by their rank in MPI_COMM_WORLD, as one rank sees it. Immutable.
class Group {
  public:
    /// `own_world_rank`: the rank whose object this is, which may be a member or not.
    /// `session`: the number of that it comes from (Session), 0 for MPI_Init's world.
    Group(std::vector<int> world_ranks, int own_world_rank, std::uint32_t session = 0);

    int size() const noexcept { return static_cast<int>(world_ranks_.size()); }
    std::uint32_t session() const noexcept { return session_; }
    /// This rank's place, or MPI_UNDEFINED.
    int rank() const noexcept { return rank_; }
    std::span<const int> world_ranks() const noexcept { return world_ranks_; }
    /// Place of a process, or MPI_UNDEFINED.
    int find(int world_rank) const noexcept;

  private:
    std::vector<int> world_ranks_;
    /// (world rank, place), sorted: places are found in logarithmic time.
    std::vector<std::pair<int, int>> places_;
    int rank_;
    std::uint32_t session_;
};

/// The set operations of MPI-5.0 section 7.3.2, in its orders.
std::vector<int> unite(const Group& first, const Group& second);
std::vector<int> intersect(const Group& first, const Group& second);
std::vector<int> subtract(const Group& first, const Group& second);
/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare(const Group& first, const Group& second);

}  // namespace headway::object
