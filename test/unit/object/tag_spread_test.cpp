// SPDX-License-Identifier: Apache-2.0
#include "object/tag_spread.hpp"

#include <set>

#include <gtest/gtest.h>

namespace headway::object {
namespace {

/// How many of `count` instances threads use whose tags lie `step` apart.
std::size_t used(std::uint32_t count, std::uint32_t step)
{
    std::set<std::uint32_t> found;
    for (std::uint32_t thread = 0; thread < count; ++thread) {
        found.insert(spread_tag(thread * step, count));
    }
    return found.size();
}

TEST(TagSpread, StaysInsideAndCoversAll)
{
    for (std::uint32_t count = 2; count <= 8; ++count) {
        std::set<std::uint32_t> found;
        for (std::uint32_t tag = 0; tag < 1000; ++tag) {
            const std::uint32_t instance = spread_tag(tag, count);
            ASSERT_LT(instance, count);
            found.insert(instance);
        }
        EXPECT_EQ(found.size(), count);
        EXPECT_LT(spread_tag(0x7fff'ffffU, count), count);
    }
}

TEST(TagSpread, NeighboursPart)
{
    for (std::uint32_t count = 2; count <= 8; ++count) {
        EXPECT_EQ(used(count, 1), count) << count;
    }
}

TEST(TagSpread, MultiplesOfPowersOfTwoPart)
{
    for (const std::uint32_t count : {2U, 4U, 8U}) {
        for (std::uint32_t step = 1; step <= 1U << 16U; step *= 2) {
            EXPECT_EQ(used(count, step), count) << count << " instances, step " << step;
        }
    }
}

TEST(TagSpread, TagZeroIsTheOwnOne)
{
    for (std::uint32_t count = 1; count <= 8; ++count) {
        EXPECT_EQ(spread_tag(0, count), 0U);
    }
}

}  // namespace
}  // namespace headway::object
