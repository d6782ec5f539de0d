// SPDX-License-Identifier: Apache-2.0
#include "object/reordering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "object/topology.hpp"

namespace headway::object {
namespace {

std::vector<Site> sites_of(int nodes, int caches, int ranks)
{
    std::vector<Site> sites;
    for (int node = 0; node < nodes; ++node) {
        for (int cache = 0; cache < caches; ++cache) {
            sites.insert(sites.end(), static_cast<std::size_t>(ranks), Site{node, cache});
        }
    }
    return sites;
}

void expect_permutation(std::vector<int> members, std::size_t count)
{
    ASSERT_EQ(members.size(), count);
    std::ranges::sort(members);
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(members[i], static_cast<int>(i));
    }
}

Reordering reorder_grid(const Cartesian& grid, const std::vector<Site>& sites, int brick)
{
    return reorder(edges_of(grid), sites, brick_orders(grid.dims, brick));
}

TEST(Reordering, SquaresInsteadOfRows)
{
    const Cartesian grid{{4, 4}, {0, 0}};
    const Reordering found = reorder_grid(grid, sites_of(4, 1, 4), 4);
    EXPECT_EQ(found.before, (Crossing{12, 0}));  // four rows
    EXPECT_EQ(found.after, (Crossing{8, 0}));    // four squares
    expect_permutation(found.member_at, 16);
}

TEST(Reordering, CubesOfAGridOverNodesAndCaches)
{
    const Cartesian grid{{8, 8, 8}, {0, 0, 0}};
    const Reordering found = reorder_grid(grid, sites_of(8, 8, 8), 64);
    EXPECT_EQ(found.before.nodes, 7 * 64);  // planes
    EXPECT_EQ(found.after.nodes, 3 * 64);   // cubes of 4 x 4 x 4
    expect_permutation(found.member_at, 512);
}

TEST(Reordering, NobodyMovesWithoutGain)
{
    const Cartesian ring{{8}, {1}};
    for (const auto& sites : {sites_of(1, 1, 8), sites_of(2, 1, 4), sites_of(2, 2, 2)}) {
        const Reordering found = reorder_grid(ring, sites, 4);
        std::vector<int> same(8);
        std::iota(same.begin(), same.end(), 0);
        EXPECT_EQ(found.member_at, same);
        EXPECT_TRUE(found.is_identity());
    }
}

TEST(Reordering, RanksDealtOutRoundRobinMeetAgain)
{
    // Neighbours by number are never of one node, so a ring crosses with every edge.
    std::vector<Site> sites;
    for (int rank = 0; rank < 12; ++rank) {
        sites.push_back({rank % 3, 0});
    }
    const Reordering found = reorder(edges_of(Cartesian{{12}, {1}}), sites);
    EXPECT_EQ(found.before.nodes, 12);
    EXPECT_EQ(found.after.nodes, 3);
}

TEST(Reordering, HeavyEdgesStayInside)
{
    const std::vector<PlaceEdge> edges{{0, 2, 10}, {1, 3, 10}, {0, 1, 1}, {2, 3, 1}};
    const Reordering found = reorder(edges, sites_of(2, 1, 2));
    EXPECT_EQ(found.before.nodes, 20);
    EXPECT_EQ(found.after.nodes, 2);
}

/// Best crossing over all ways to deal places out.
Crossing best_of_all(const std::vector<PlaceEdge>& edges, const std::vector<Site>& sites)
{
    std::vector<int> members(sites.size());
    std::iota(members.begin(), members.end(), 0);
    Crossing best = crossing_of(edges, members, sites);
    while (std::ranges::next_permutation(members).found) {
        best = std::min(best, crossing_of(edges, members, sites));
    }
    return best;
}

TEST(Reordering, RandomGraphsNeverGetWorseNorBetterThanTheBest)
{
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        std::vector<Site> sites;
        for (int rank = 0; rank < 7; ++rank) {
            sites.push_back({static_cast<int>(random() % 3), static_cast<int>(random() % 2)});
        }
        std::vector<PlaceEdge> edges;
        for (int i = 0; i < 10; ++i) {
            edges.push_back({static_cast<int>(random() % 7), static_cast<int>(random() % 7),
                             static_cast<std::int64_t>(random() % 5)});
        }
        const Reordering found = reorder(edges, sites);
        expect_permutation(found.member_at, 7);
        EXPECT_EQ(found.after, crossing_of(edges, found.member_at, sites));
        EXPECT_LE(found.after, found.before);
        EXPECT_GE(found.after, best_of_all(edges, sites));
    }
}

TEST(BrickOrders, EveryShapeOnce)
{
    const std::vector<int> dims{4, 6};
    const auto orders = brick_orders(dims, 4);  // 1 x 4 does not fill rows of 6
    ASSERT_EQ(orders.size(), 2U);               // 2 x 2 and 4 x 1
    for (const auto& order : orders) {
        expect_permutation(order, 24);
    }
    EXPECT_EQ((std::vector<int>{orders[0].begin(), orders[0].begin() + 4}),
              (std::vector<int>{0, 1, 6, 7}));
    EXPECT_TRUE(brick_orders(dims, 5).empty());
}

}  // namespace
}  // namespace headway::object
