// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "protocol/coll/algorithms.hpp"
#include "protocol/coll/between_groups.hpp"

namespace headway::protocol::coll {

enum class Collective : std::uint8_t {
    barrier,
    bcast,
    reduce,
    allreduce,
    gather,
    scatter,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,  ///< also alltoallw
    scan,
    exscan,
    reduce_scatter,
    neighbor_allgather,
    neighbor_alltoall,
};

/// Its graph depends on a topology, not on a place alone.
constexpr bool is_of_neighbors(Collective collective) noexcept
{
    return collective == Collective::neighbor_allgather ||
           collective == Collective::neighbor_alltoall;
}

enum class Algorithm : std::uint8_t {
    barrier_dissemination,
    bcast_binomial,
    bcast_scatter_ring,
    reduce_binomial,
    allreduce_recursive_doubling,
    allreduce_halving_doubling,
    gather_flat,
    scatter_flat,
    allgather_bruck,
    allgatherv_bruck,
    allgather_ring,
    alltoall_pairwise,
    alltoall_bruck,
    scan_doubling,
    exscan_doubling,
    reduce_scatter_halving,
    reduce_scatter_binomial,
    neighbor_allgather,
    neighbor_alltoall,
    inter_bcast,
    inter_reduce,
    inter_allreduce,
    inter_gather,
    inter_scatter,
    inter_allgather,
    inter_alltoall,
    inter_reduce_scatter,
};

/// What the choice may depend on: facts that are equal on all ranks of the call.
struct Shape {
    std::uint32_t size = 1;
    /// Of the vector, or of one rank's block; for allgatherv the mean of the blocks. 0 where the
    /// ranks do not all know it (gather and scatter with listed blocks, alltoallv).
    std::uint64_t bytes = 0;
    bool is_commutative = true;
};

Algorithm choose(Collective collective, const Shape& shape) noexcept;
/// Of an inter-communicator. Requires: not a scan and not one of neighbours.
Algorithm choose_between_groups(Collective collective) noexcept;
/// Requires: neither of neighbours, see neighbor_exchange(), nor between groups.
Graph build(Algorithm algorithm, Place place, std::uint32_t root);
/// Requires: an algorithm between groups.
Graph build_between_groups(Algorithm algorithm, const TwoSides& sides, std::uint32_t root);

}  // namespace headway::protocol::coll
