// SPDX-License-Identifier: Apache-2.0
#include "platform/streaming_copy.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <vector>

#include "unit/platform/exact_copies.hpp"

namespace headway::platform {
namespace {

TEST(StreamingCopy, CopiesFromAnywhereToAnywhereAndNoMore)
{
    std::vector<std::size_t> sizes(3 * cache_line_bytes + 1);
    std::iota(sizes.begin(), sizes.end(), std::size_t{0});
    expect_exact_copies(copy_streaming, sizes);
}

TEST(StreamingCopy, CopiesBlocksInSeveralPlacesAtOnce)
{
    // The distance of the places goes by rounds of a KiB, the blocks have 64.
    constexpr std::size_t sizes[] = {1023,   1024,   4095,   4096,   4097,   5000,   8192,
                                     16'384, 16'449, 65'535, 65'536, 65'537, 70'000, 135'169};
    expect_exact_copies(copy_streaming, sizes);
}

}  // namespace
}  // namespace headway::platform
