// SPDX-License-Identifier: Apache-2.0
#include "platform/short_copy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace headway::platform {
namespace {

TEST(ShortCopy, CopiesExactlyTheBytesItIsTold)
{
    constexpr std::size_t bytes_max = 100;
    constexpr std::size_t margin = 8;
    std::array<unsigned char, bytes_max> source{};
    for (std::size_t i = 0; i < bytes_max; ++i) {
        source[i] = static_cast<unsigned char>(i + 1);
    }
    for (std::size_t bytes = 0; bytes <= bytes_max; ++bytes) {
        std::array<unsigned char, bytes_max + 2 * margin> target{};
        copy_short(target.data() + margin, source.data(), bytes);
        for (std::size_t i = 0; i < target.size(); ++i) {
            const bool is_copied = i >= margin && i < margin + bytes;
            ASSERT_EQ(target[i], is_copied ? source[i - margin] : 0) << bytes << " bytes, " << i;
        }
    }
}

TEST(ShortCopy, NoBytesHaveNoAddress)
{
    copy_short(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace headway::platform
