// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "protocol/coll/between_groups.hpp"
#include "protocol/coll/table.hpp"

namespace headway::protocol::coll {

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
/// As its row of the table is tuned. Requires: an algorithm of one group that reads no topology.
Graph build(Algorithm algorithm, Place place, std::uint32_t root);
/// Requires: an algorithm between groups.
Graph build_between_groups(Algorithm algorithm, const TwoSides& sides, std::uint32_t root);

}  // namespace headway::protocol::coll
