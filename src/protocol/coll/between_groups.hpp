// SPDX-License-Identifier: Apache-2.0
// Collectives of inter-communicators (MPI-5.0 section 6.2.3): what one group gives, the other gets.
// Ranks count through both groups, the first one's first. What the spaces hold is as for one group,
// where `size` means the other group's, but for reduce_scatter, whose blocks are those of the own
// group. Formulas are those of algorithms.hpp, for groups of A and B ranks; B is the other group of
// the root. Of scratch a rank has nothing, but where it reduces: then ceil(log2 of its group)
// vectors at most, and one more in inter_reduce_scatter.
#pragma once

#include <cstdint>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

/// A rank among those of two groups. Requires 0 < first_size < size, rank < size.
struct TwoSides {
    std::uint32_t rank = 0;
    std::uint32_t size = 2;
    std::uint32_t first_size = 1;

    bool is_first() const noexcept { return rank < first_size; }
    /// The own group: its first rank, and its size.
    std::uint32_t own_begin() const noexcept { return is_first() ? 0 : first_size; }
    std::uint32_t own_size() const noexcept { return is_first() ? first_size : size - first_size; }
    std::uint32_t other_begin() const noexcept { return is_first() ? first_size : 0; }
    std::uint32_t other_size() const noexcept { return size - own_size(); }
};

/// In place of a root where the rank takes no part: the root is another of its group.
inline constexpr std::uint32_t no_root = UINT32_MAX;

/// Binomial tree of the root and the other group.
/// Formula: B messages, as many blocks.
Graph inter_bcast(const TwoSides& sides, std::uint32_t root);

/// Binomial tree of the other group, whose first rank sends the result to the root. Keeps rank
/// order.
/// Formula: B messages, as many blocks.
Graph inter_reduce(const TwoSides& sides, std::uint32_t root);

/// Both groups reduce to their first ranks, which swap the results and spread them in their groups.
/// Formula: 2 (A + B - 1) messages, as many blocks.
Graph inter_allreduce(const TwoSides& sides);

/// Everyone of the other group sends straight to the root.
/// Formula: B messages, as many blocks.
Graph inter_gather(const TwoSides& sides, std::uint32_t root);

/// The root sends straight to everyone of the other group.
/// Formula: B messages, as many blocks.
Graph inter_scatter(const TwoSides& sides, std::uint32_t root);

/// Allgather (one block for all) and alltoall: straight to and from everyone of the other group.
/// Formula: 2 A B messages, as many blocks.
Graph inter_exchange(const TwoSides& sides, bool has_one_block);

/// As inter_allreduce, but each first rank scatters what it gets. Blocks may be listed as for
/// reduce_scatter_binomial.
/// Formula: 2 (A + B - 1) messages of A^2 + B^2 + A + B - 2 blocks.
Graph inter_reduce_scatter(const TwoSides& sides);

}  // namespace headway::protocol::coll
