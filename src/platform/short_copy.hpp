// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "platform/memory_copy.hpp"

namespace headway::platform {

/// Copies the first and the last `end_bytes` of a range, which cover it together: any size from
/// that up to twice that by two moves.
template <std::size_t end_bytes>
inline void copy_both_ends(std::byte* target, const std::byte* source, std::size_t bytes) noexcept
{
    std::byte first[end_bytes];
    std::byte last[end_bytes];
    std::memcpy(first, source, end_bytes);
    std::memcpy(last, source + bytes - end_bytes, end_bytes);
    std::memcpy(target, first, end_bytes);
    std::memcpy(target + bytes - end_bytes, last, end_bytes);
}

/// memcpy() for what is short most times: a call of the C library costs more instructions than up
/// to 32 bytes in line do. No bytes have no address.
inline void copy_short(void* target, const void* source, std::size_t bytes) noexcept
{
    auto* const to = static_cast<std::byte*>(target);
    const auto* const from = static_cast<const std::byte*>(source);
    if (bytes > 32) {
        copy_memory(to, from, bytes);
    } else if (bytes >= 16) {
        copy_both_ends<16>(to, from, bytes);
    } else if (bytes >= 8) {
        copy_both_ends<8>(to, from, bytes);
    } else if (bytes >= 4) {
        copy_both_ends<4>(to, from, bytes);
    } else {
        for (std::size_t at = 0; at < bytes; ++at) {
            to[at] = from[at];
        }
    }
}

}  // namespace headway::platform
