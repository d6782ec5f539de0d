// SPDX-License-Identifier: Apache-2.0
//
// Meetings at which members lay down long vectors, or blocks for each other. Each copies what it
// gives to the board and, when all have come, what it gets from there: two copies by its own hands,
// without a message, a call of the system or a change of contexts beside the meeting's. What is
// longer than half a board goes in several rounds.
#pragma once

#include <cstdint>

#include "engine/meeting.hpp"

namespace headway::engine {

/// Of what one member gives: of all blocks that are for all alike, or of one that is for one.
std::uint64_t given_bytes(const GraphTemplate& stored, const GraphArguments& arguments);

/// Whether a call of that size is worth it. Requires: the graph says that its ranks may meet.
bool can_use_board(const GraphTemplate& stored, const Scope& scope,
                   const GraphArguments& arguments);

/// As meet(). Requires: can_use_board().
[[nodiscard]] bool meet_at_board(Driver& driver, Seat& seat, const GraphTemplate& stored,
                                 const Scope& scope, const GraphArguments& arguments);

}  // namespace headway::engine
