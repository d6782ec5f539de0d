// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headway::base {

/// The bits of a number spread over a word (the last step of splitmix64): equal numbers give equal
/// words, neighbours give words that have nothing in common. For draws by a seed and for digests.
constexpr std::uint64_t mix(std::uint64_t x) noexcept
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

}  // namespace headway::base
