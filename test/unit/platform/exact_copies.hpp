// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "platform/cpu.hpp"

namespace headway::platform {

/// Copies so many bytes from and to places of every alignment: these bytes change, and no others.
template <typename Copy>
void expect_exact_copies(Copy&& copy, std::span<const std::size_t> sizes)
{
    const std::size_t room = *std::max_element(sizes.begin(), sizes.end()) + cache_line_bytes;
    std::vector<std::byte> source(room);
    for (std::size_t i = 0; i < source.size(); ++i) {
        source[i] = static_cast<std::byte>(i * 7 + i / 256 + 1);
    }
    for (std::size_t to = 0; to < cache_line_bytes; ++to) {
        for (const std::size_t from : {std::size_t{0}, std::size_t{1}, std::size_t{17}, to}) {
            for (const std::size_t bytes : sizes) {
                std::vector<std::byte> target(room + cache_line_bytes, std::byte{0xEE});
                std::vector<std::byte> wanted = target;
                copy(target.data() + to, source.data() + from, bytes);
                std::copy_n(source.data() + from, bytes, wanted.data() + to);
                ASSERT_EQ(target, wanted) << bytes << " bytes from " << from << " to " << to;
            }
        }
    }
}

}  // namespace headway::platform
