// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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

/// A member's own view of a shelf: the others may be some calls ahead.
struct ShelfSeat {
    Shelf* shelf = nullptr;
    std::uint64_t calls = 0;     ///< that the member has ended there
    std::uint64_t room_end = 0;  ///< the first call for which it has not yet seen room
};

/// What a shelf is for. A communicator has one of each size, once it needs it.
enum class ShelfSize : std::uint8_t {
    lines,   ///< for calls of few bytes
    pages,   ///< for blocks of up to shelf_page_bytes_max
    blocks,  ///< for those of up to shelf_block_bytes_max
};
inline constexpr std::size_t shelf_sizes = 3;

/// A member's own view of where it meets: the others may be a call ahead.
struct Seat {
    Meeting* meeting = nullptr;
    Board board = {};
    std::array<ShelfSeat, shelf_sizes> shelves = {};

    ShelfSeat& at(ShelfSize size) noexcept { return shelves[static_cast<std::size_t>(size)]; }
};

}  // namespace headway::engine
