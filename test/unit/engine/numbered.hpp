// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace headway::engine {

/// Bytes that tell where they belong.
inline std::vector<std::byte> numbered(std::size_t bytes)
{
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        made[i] = static_cast<std::byte>(i * 7 + i / 251);
    }
    return made;
}

}  // namespace headway::engine
