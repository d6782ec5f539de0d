// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "protocol/coll/between_groups.hpp"
#include "protocol/coll/table.hpp"

namespace headway::protocol::coll {

/// Of an inter-communicator. Requires: not a scan and not one of neighbours.
Algorithm choose_between_groups(Collective collective) noexcept;
/// Requires: an algorithm of one group; `topology`, of all ranks, unless it is of one level.
Graph build(Algorithm algorithm, const Tuning& tuning, Place place, std::uint32_t root,
            const Topology* topology = nullptr);
/// As its row of the table is tuned. Requires: of one level.
Graph build(Algorithm algorithm, Place place, std::uint32_t root);
/// Requires: an algorithm between groups.
Graph build_between_groups(Algorithm algorithm, const TwoSides& sides, std::uint32_t root);

}  // namespace headway::protocol::coll
