// SPDX-License-Identifier: Apache-2.0
#include "platform/line_transfer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headway::platform {
namespace {

TEST(CopyCached, CopiesFromAnywhereToAnywhereAndNoMore)
{
    constexpr std::size_t bytes_max = 3000;
    constexpr std::size_t margin = cache_line_bytes;
    std::vector<std::byte> source(bytes_max + 2 * margin);
    for (std::size_t i = 0; i < source.size(); ++i) {
        source[i] = static_cast<std::byte>(i * 7 + i / 256 + 1);
    }
    for (std::size_t bytes = 0; bytes <= bytes_max; bytes += bytes < 200 ? 1 : 61) {
        for (const std::size_t from : {0UL, 1UL, 17UL, 63UL}) {
            for (const std::size_t to : {0UL, 8UL, 63UL}) {
                std::vector<std::byte> target(bytes_max + 2 * margin, std::byte{0xEE});
                std::vector<std::byte> wanted = target;
                copy_cached(target.data() + to, source.data() + from, bytes);
                std::copy_n(source.data() + from, bytes, wanted.data() + to);
                ASSERT_EQ(target, wanted) << bytes << " bytes from " << from << " to " << to;
            }
        }
    }
}

}  // namespace
}  // namespace headway::platform
