// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace headway::memory {

// Block sizes of slabs: multiples of 64 up to 512, then four steps a doubling up to 32 KiB, so at
// most a fifth of a block is lost above 512 bytes. Every size is a multiple of 64, hence every
// block is aligned to a cache line.
inline constexpr std::uint32_t block_granule_bytes = 64;
inline constexpr std::size_t slab_block_bytes_max = 32 * 1024;
inline constexpr std::uint32_t size_class_count = 8 + 6 * 4;

/// Requires size_bytes <= slab_block_bytes_max. Zero bytes are served as one.
constexpr std::uint32_t size_class_of(std::size_t size_bytes) noexcept
{
    if (size_bytes <= 512) {
        return size_bytes == 0 ? 0 : static_cast<std::uint32_t>((size_bytes - 1) / 64);
    }
    // 513..640 -> 8, ..768 -> 9, ..896 -> 10, ..1024 -> 11, then the next doubling.
    const auto last = static_cast<std::uint32_t>(size_bytes - 1);
    const auto doubling = static_cast<std::uint32_t>(std::bit_width(last)) - 10;
    return 8 + doubling * 4 + ((last >> (doubling + 7)) & 3);
}

constexpr std::uint32_t size_class_bytes(std::uint32_t size_class) noexcept
{
    if (size_class < 8) {
        return (size_class + 1) * 64;
    }
    const std::uint32_t doubling = (size_class - 8) / 4;
    const std::uint32_t step = (size_class - 8) % 4;
    return (5 + step) << (doubling + 7);
}

static_assert(size_class_bytes(size_class_count - 1) == slab_block_bytes_max);
static_assert(size_class_of(slab_block_bytes_max) == size_class_count - 1);

}  // namespace headway::memory
