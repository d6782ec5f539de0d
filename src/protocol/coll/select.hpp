// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {

enum class Collective : std::uint8_t {
    barrier,
    bcast,
    reduce,
    allreduce,
    gather,
    scatter,
    allgather,
    alltoall,
};

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
    allgather_ring,
    alltoall_pairwise,
};

/// What the choice may depend on: facts that are equal on all ranks of the call.
struct Shape {
    std::uint32_t size = 1;
    std::uint64_t bytes = 0;  ///< of the vector, or of one rank's block
    bool is_commutative = true;
};

Algorithm choose(Collective collective, const Shape& shape) noexcept;
Graph build(Algorithm algorithm, Place place, std::uint32_t root);

}  // namespace headway::protocol::coll
