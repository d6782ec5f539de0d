// SPDX-License-Identifier: Apache-2.0
#include "memory/size_class.hpp"

#include <gtest/gtest.h>

namespace headway::memory {
namespace {

TEST(SizeClass, EverySizeGetsTheSmallestClassThatHoldsIt)
{
    for (std::size_t size = 1; size <= slab_block_bytes_max; ++size) {
        const std::uint32_t size_class = size_class_of(size);
        ASSERT_LT(size_class, size_class_count);
        ASSERT_GE(size_class_bytes(size_class), size);
        if (size_class > 0) {
            ASSERT_LT(size_class_bytes(size_class - 1), size);
        }
    }
    EXPECT_EQ(size_class_of(0), 0U);
}

TEST(SizeClass, BlocksAreWholeCacheLines)
{
    for (std::uint32_t size_class = 0; size_class < size_class_count; ++size_class) {
        EXPECT_EQ(size_class_bytes(size_class) % block_granule_bytes, 0U);
    }
}

}  // namespace
}  // namespace headway::memory
