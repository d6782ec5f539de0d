// SPDX-License-Identifier: Apache-2.0
//
// A message of a graph whose bytes are combined with others as soon as they are there: whoever
// takes a piece of it out of a slot combines it on the way, instead of storing it for a reduce node
// to read again (docs/design/013).
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/element.hpp"

namespace headway::engine {

struct Op;

/// What becomes of the bytes that arrive.
struct Combination {
    /// The operand of the lower ranks. Null: what arrives is that operand, and what it is combined
    /// with stands where the result is to be.
    const std::byte* operand = nullptr;
    data::ReduceOperator op = data::ReduceOperator::sum;
    data::ElementKind kind = data::ElementKind::none;  ///< none: they are stored, nothing else
    std::uint8_t element_bytes = 1;

    bool is_there() const noexcept { return kind != data::ElementKind::none; }
};

/// Pieces of messages begin at multiples of this many bytes, so that no element is cut.
inline constexpr std::uint64_t piece_alignment = 64;

/// The size of a piece of about `bytes`.
constexpr std::uint64_t aligned_piece(std::uint64_t bytes) noexcept
{
    return bytes < piece_alignment ? piece_alignment : bytes - bytes % piece_alignment;
}

/// Marks the reduce node that follows the receive and nothing else any more as one that is over
/// with it; says how its bytes are to be combined, and sets the address where the result stands.
/// None, and nothing happened, where there is no such node, or user code or elements of odd sizes
/// are in the way. `address` is where the receive would store them, the message as long as that
/// place. Thread rule: the executor of the receive's rank, when the message has matched.
Combination take_combination(const Op& receive, std::byte** address) noexcept;

/// Combines `bytes` that have arrived at `incoming` into `result`, both at `from` bytes of the
/// message. Requires: a process that has both; `from` and all but the last `bytes` are aligned.
void combine(const Combination& combination, std::uint64_t from, std::uint64_t bytes,
             const std::byte* incoming, std::byte* result) noexcept;

}  // namespace headway::engine
