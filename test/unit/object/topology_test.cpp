// SPDX-License-Identifier: Apache-2.0
#include "object/topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

namespace headway::object {
namespace {

TEST(BalanceDims, FindsTheSmallestSpread)
{
    for (int nodes = 1; nodes <= 400; ++nodes) {
        int best = nodes;
        for (int a = 1; a <= nodes; ++a) {
            for (int b = 1; a * b <= nodes; ++b) {
                if (nodes % (a * b) == 0) {
                    const int c = nodes / (a * b);
                    best = std::min(best, std::max({a, b, c}) - std::min({a, b, c}));
                }
            }
        }
        std::vector<int> dims(3, 0);
        ASSERT_TRUE(balance_dims(nodes, dims));
        EXPECT_EQ(dims[0] * dims[1] * dims[2], nodes);
        EXPECT_TRUE(std::ranges::is_sorted(dims, std::greater{}));
        EXPECT_EQ(dims[0] - dims[2], best) << nodes << " nodes";
    }
}

TEST(BalanceDims, EndsWithManyDivisors)
{
    std::vector<int> dims(12, 0);
    ASSERT_TRUE(balance_dims(1102701600, dims));
    int product = 1;
    for (const int extent : dims) {
        product *= extent;
    }
    EXPECT_EQ(product, 1102701600);
}

TEST(BalanceDims, KeepsWhatWasGiven)
{
    std::vector<int> dims{0, 4, 0};
    ASSERT_TRUE(balance_dims(24, dims));
    EXPECT_EQ(dims, (std::vector<int>{3, 4, 2}));
    std::vector<int> wrong{5, 0};
    EXPECT_FALSE(balance_dims(24, wrong));
    EXPECT_EQ(wrong, (std::vector<int>{5, 0}));
    std::vector<int> full{4, 4};
    EXPECT_FALSE(balance_dims(24, full));
}

TEST(Cartesian, ShiftsFarAndWrapsWherePeriodic)
{
    const Cartesian grid{{3, 4}, {1, 0}};
    EXPECT_EQ(grid.shifted(5, 0, 2147483647), (1 + 2147483647LL % 3) % 3 * 4 + 1);
    EXPECT_EQ(grid.shifted(5, 0, -2147483648LL), ((1 - 2147483648LL) % 3 + 3) % 3 * 4 + 1);
    EXPECT_EQ(grid.shifted(5, 1, 2), 7);
    EXPECT_EQ(grid.shifted(5, 1, 3), MPI_PROC_NULL);
    EXPECT_EQ(grid.shifted(5, 1, -2), MPI_PROC_NULL);
    const int outside[] = {-1, 4};
    EXPECT_EQ(grid.rank(outside), std::nullopt);
    const int wrapped[] = {-1, 3};
    EXPECT_EQ(grid.rank(wrapped), 11);
}

}  // namespace
}  // namespace headway::object
