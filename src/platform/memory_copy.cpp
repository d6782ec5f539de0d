// SPDX-License-Identifier: Apache-2.0
#include "platform/memory_copy.hpp"

namespace headway::platform {

void copy_by_lines(std::byte* target, const std::byte* source, std::size_t bytes) noexcept
{
    std::size_t at = 0;
    for (; at + cache_line_bytes <= bytes; at += cache_line_bytes) {
        copy_line(target + at, source + at);
    }
    std::memcpy(target + at, source + at, bytes - at);
}

}  // namespace headway::platform
