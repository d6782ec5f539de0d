// SPDX-License-Identifier: Apache-2.0
// How many messages an algorithm sends, how many blocks and bytes are in them, and how much scratch
// a rank needs at most, by the formulas that stand beside the builders in
// protocol/coll/algorithms.hpp and by the table. The verifier counts and compares; the simulator
// asks before it builds anything.
#pragma once

#include <cstdint>

#include "protocol/coll/table.hpp"
#include "protocol/coll/topology.hpp"
#include "study/verifier.hpp"

namespace headway::study {

/// Which blocks of a call have sizes of their own.
struct Sizing {
    std::uint32_t pieces = 0;  ///< those that the vector is cut into; 0: it is not cut
    bool is_listed = false;    ///< those of all ranks
    bool in_place = false;
};

/// Of all ranks together. `call` is that of any rank; a topology where the row reads one.
Traffic traffic_of(const coll::Row& row, const coll::Call& call, const Sizing& sizing);

/// Blocks of scratch that the graph of the call's rank has at most.
std::uint64_t scratch_blocks_max(const coll::Row& row, const coll::Call& call,
                                 std::uint32_t pieces);

/// Of an algorithm between groups of `first` and `second` ranks, the root, if any, in the first.
Traffic traffic_between_groups(coll::Algorithm algorithm, std::uint64_t first,
                               std::uint64_t second);
std::uint64_t scratch_blocks_between_groups(coll::Algorithm algorithm, std::uint64_t own_size);

}  // namespace headway::study
