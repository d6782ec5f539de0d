// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace headway::engine {

struct Meeting;
struct Shelf;

/// Where members lay down what is longer, or for others than all: two halves, in turn.
struct Board {
    std::byte* bytes = nullptr;
    std::uint64_t half_bytes = 0;
    std::uint64_t wanted_bytes = 0;  ///< of a half, as was asked for last; there may be no room
};

/// A member's own view of where it meets: the others may be a call ahead.
struct Seat {
    Meeting* meeting = nullptr;
    Board board = {};
    Shelf* shelf = nullptr;
    std::uint64_t shelf_calls = 0;     ///< that the member has ended there
    std::uint64_t shelf_room_end = 0;  ///< the first call for which it has not yet seen room
};

}  // namespace headway::engine
