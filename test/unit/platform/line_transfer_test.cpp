// SPDX-License-Identifier: Apache-2.0
#include "platform/line_transfer.hpp"

#include <gtest/gtest.h>

#include <cstddef>

#include "platform/cpu.hpp"
#include "platform/line_copies.hpp"
#include "unit/platform/exact_copies.hpp"

namespace headway::platform {
namespace {

TEST(CopyCached, CopiesFromAnywhereToAnywhereAndNoMore)
{
    // Around the KiB from which on it asks ahead, and around whole lines behind it.
    constexpr std::size_t sizes[] = {0,    1,    33,   64,   1000, 1023, 1024, 1025, 1026, 1087,
                                     1088, 1089, 1090, 1151, 1152, 1153, 2047, 2048, 2049, 3000};
    expect_exact_copies(copy_cached, sizes);
}

// Whichever of them copy_cached() takes here.
TEST(CopyLines, CopyWholeLinesByEveryWidthAndNoMore)
{
    constexpr std::size_t sizes[] = {64, 128, 1024, 1088, 1152, 3008};
    const auto by = [](auto copy_lines) {
        return [copy_lines](std::byte* target, const std::byte* source, std::size_t bytes) {
            EXPECT_EQ(copy_lines(target, source, bytes, bytes - cache_line_bytes), bytes);
        };
    };
    expect_exact_copies(by(copy_lines_by_16), sizes);
#if defined(__x86_64__)
    if (has_wide_registers()) {
        expect_exact_copies(by(copy_lines_by_32), sizes);
    }
    if (has_line_registers()) {
        expect_exact_copies(by(copy_lines_by_64), sizes);
    }
#endif
}

TEST(CopyDeparting, CopiesFromAnywhereToAnywhereAndNoMore)
{
    // Around the length from which on strings may be quick.
    constexpr std::size_t sizes[] = {0, 1, 33, 2049, 4096, 8191, 8192, 8193, 12345};
    expect_exact_copies(copy_departing, sizes);
}

}  // namespace
}  // namespace headway::platform
