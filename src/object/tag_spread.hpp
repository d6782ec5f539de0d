// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace headway::object {

/// Which of `count` instances messages with that tag use, counted from their communicator's own.
/// Threads give themselves tags by their number, or by it times something: the digits of the tag
/// are added without carry, as many bits each as a number of an instance has, so that numbers
/// beside each other spread, also if they are multiplied by a power of two.
constexpr std::uint32_t spread_tag(std::uint32_t tag, std::uint32_t count) noexcept
{
    const auto digit_bits = static_cast<unsigned>(std::bit_width(count - 1));
    std::uint64_t folded = tag;
    for (unsigned digits = 16; digits != 0; digits /= 2) {
        folded ^= folded >> (digits * digit_bits);
    }
    return static_cast<std::uint32_t>(folded & ((1U << digit_bits) - 1U)) % count;
}

}  // namespace headway::object
