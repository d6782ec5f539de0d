// SPDX-License-Identifier: Apache-2.0
#include "platform/streaming_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headway::platform {
namespace {

TEST(StreamingCopy, CopiesFromAnywhereToAnywhereAndNoMore)
{
    constexpr std::size_t room = 4 * cache_line_bytes;
    std::vector<std::byte> source(2 * room);
    for (std::size_t i = 0; i < source.size(); ++i) {
        source[i] = static_cast<std::byte>(i * 7 + 1);
    }
    for (std::size_t to = 0; to < cache_line_bytes; ++to) {
        for (const std::size_t from : {std::size_t{0}, std::size_t{1}, std::size_t{17}, to}) {
            for (std::size_t bytes = 0; bytes <= room - cache_line_bytes; ++bytes) {
                std::vector<std::byte> target(2 * room, std::byte{0xEE});
                std::vector<std::byte> wanted = target;
                copy_streaming(target.data() + to, source.data() + from, bytes);
                std::copy_n(source.data() + from, bytes, wanted.data() + to);
                ASSERT_EQ(target, wanted) << bytes << " bytes from " << from << " to " << to;
            }
        }
    }
}

}  // namespace
}  // namespace headway::platform
