// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "protocol/coll/between_groups.hpp"
#include "protocol/coll/table.hpp"

namespace headway::protocol::coll {

/// Of an inter-communicator. Requires: not a scan and not one of neighbours.
Algorithm choose_between_groups(Collective collective) noexcept;
/// Requires: an algorithm of one group that reads no topology.
Graph build(Algorithm algorithm, const Tuning& tuning, Place place, std::uint32_t root);
/// As its row of the table is tuned.
Graph build(Algorithm algorithm, Place place, std::uint32_t root);
/// Requires: an algorithm between groups.
Graph build_between_groups(Algorithm algorithm, const TwoSides& sides, std::uint32_t root);

}  // namespace headway::protocol::coll
