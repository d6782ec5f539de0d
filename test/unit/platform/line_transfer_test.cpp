// SPDX-License-Identifier: Apache-2.0
#include "platform/line_transfer.hpp"

#include <gtest/gtest.h>

#include <cstddef>

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

TEST(CopyDeparting, CopiesFromAnywhereToAnywhereAndNoMore)
{
    // Around the length from which on strings may be quick.
    constexpr std::size_t sizes[] = {0, 1, 33, 2049, 4096, 8191, 8192, 8193, 12345};
    expect_exact_copies(copy_departing, sizes);
}

}  // namespace
}  // namespace headway::platform
