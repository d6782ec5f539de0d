// SPDX-License-Identifier: Apache-2.0
// How many messages an algorithm sends, and how many blocks are in them, by the formulas that stand
// beside the builders in protocol/coll/algorithms.hpp. The verifier counts and compares; the
// simulator asks before it builds anything.
#pragma once

#include <cstdint>

#include "protocol/coll/table.hpp"
#include "protocol/coll/topology.hpp"
#include "study/verifier.hpp"

namespace headway::study {

/// Of all ranks together. `call` is that of any rank; a topology where the row reads one.
Traffic traffic_of(const coll::Row& row, const coll::Call& call);

/// Of an algorithm between groups of `first` and `second` ranks, the root, if any, in the first.
Traffic traffic_between_groups(coll::Algorithm algorithm, std::uint64_t first,
                               std::uint64_t second);

}  // namespace headway::study
