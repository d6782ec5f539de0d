// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headway::platform {

/// Copies the first and the last `Piece` of a range that both cover together.
template <typename Piece>
inline void copy_both_ends(std::byte* target, const std::byte* source, std::size_t bytes) noexcept
{
    Piece first;
    Piece last;
    std::memcpy(&first, source, sizeof first);
    std::memcpy(&last, source + bytes - sizeof last, sizeof last);
    std::memcpy(target, &first, sizeof first);
    std::memcpy(target + bytes - sizeof last, &last, sizeof last);
}

/// memcpy() for what is short most times: a call of the C library costs more instructions than up
/// to 32 bytes in line do. No bytes have no address.
inline void copy_short(void* target, const void* source, std::size_t bytes) noexcept
{
    struct Half {
        std::uint64_t words[2];
    };
    auto* const to = static_cast<std::byte*>(target);
    const auto* const from = static_cast<const std::byte*>(source);
    if (bytes > 2 * sizeof(Half)) {
        std::memcpy(to, from, bytes);
    } else if (bytes >= sizeof(Half)) {
        copy_both_ends<Half>(to, from, bytes);
    } else if (bytes >= sizeof(std::uint64_t)) {
        copy_both_ends<std::uint64_t>(to, from, bytes);
    } else if (bytes >= sizeof(std::uint32_t)) {
        copy_both_ends<std::uint32_t>(to, from, bytes);
    } else {
        for (std::size_t at = 0; at < bytes; ++at) {
            to[at] = from[at];
        }
    }
}

}  // namespace headway::platform
