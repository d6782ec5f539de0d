// SPDX-License-Identifier: Apache-2.0
// Elements of a few short members, such as structs: each element is copied by moves whose sizes the
// compiler knows, all in one pass, as a program's own loop would.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "data/type_program.hpp"

namespace headway::data {

class RecordMoves {
  public:
    /// `parts` are runs. None: their sizes are not of the kind that is served here.
    static std::optional<RecordMoves> find(const ProgramView& program,
                                           std::span<const TypePart> parts);

    /// `count` elements, `stride` bytes apart in memory and `step` in the stream.
    void pack(std::uintptr_t address, std::int64_t stride, std::byte* stream, std::size_t step,
              std::uint64_t count) const;
    void unpack(std::uintptr_t address, std::int64_t stride, const std::byte* stream,
                std::size_t step, std::uint64_t count) const;

    struct Move {
        std::int64_t inside = 0;    ///< from the element's address
        std::uint64_t outside = 0;  ///< from the element's place in the stream
    };
    /// Sizes of the moves that an element may have, in the order in which they are made. Small ones
    /// stand on both sides of the large ones, so that the stream is mostly walked forwards.
    static constexpr std::array<std::size_t, 6> sizes{4, 16, 8, 8, 4, 1};
    using Moves = std::array<Move, sizes.size()>;

  private:
    bool place(std::size_t bytes, const Move& move, std::size_t* after);

    Moves moves_{};
    std::uint32_t used_ = 0;  ///< bit i: there is a move of size i
};

}  // namespace headway::data
