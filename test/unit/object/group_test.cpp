// SPDX-License-Identifier: Apache-2.0
//
// Groups beside a model: plain vectors, searched from the front.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "mpi.h"
#include "object/group.hpp"

namespace headway::object {
namespace {

bool has(const std::vector<int>& all, int member)
{
    return std::find(all.begin(), all.end(), member) != all.end();
}

std::vector<int> any_members(std::mt19937& dice)
{
    std::vector<int> all(12);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), dice);
    all.resize(dice() % 13);
    return all;
}

TEST(Group, FindsMembersAndItself)
{
    const Group group({7, 3, 0, 9}, 0);
    EXPECT_EQ(group.size(), 4);
    EXPECT_EQ(group.rank(), 2);
    EXPECT_EQ(group.find(7), 0);
    EXPECT_EQ(group.find(9), 3);
    for (const int stranger : {-1, 1, 4, 8, 10}) {
        EXPECT_EQ(group.find(stranger), MPI_UNDEFINED);
    }
    EXPECT_EQ(Group({7, 3}, 0).rank(), MPI_UNDEFINED);
    EXPECT_EQ(Group({}, 0).size(), 0);
    EXPECT_EQ(Group({}, 0).rank(), MPI_UNDEFINED);
}

TEST(Group, SetOperationsBehaveLikeTheModel)
{
    std::mt19937 dice(1);
    for (int round = 0; round < 2000; ++round) {
        const std::vector<int> a = any_members(dice);
        const std::vector<int> b = any_members(dice);
        std::vector<int> both = a;
        std::vector<int> shared;
        std::vector<int> rest;
        for (const int member : a) {
            (has(b, member) ? shared : rest).push_back(member);
        }
        std::copy_if(b.begin(), b.end(), std::back_inserter(both),
                     [&](int member) { return !has(a, member); });
        const Group first(a, 0);
        const Group second(b, 0);
        ASSERT_EQ(unite(first, second), both);
        ASSERT_EQ(intersect(first, second), shared);
        ASSERT_EQ(subtract(first, second), rest);
        int relation = MPI_UNEQUAL;
        if (a == b) {
            relation = MPI_IDENT;
        }
        else if (a.size() == b.size() && rest.empty()) {
            relation = MPI_SIMILAR;
        }
        ASSERT_EQ(compare(first, second), relation);
    }
}

TEST(Group, ComparesOrderAndMembers)
{
    const Group group({1, 2, 3}, 1);
    EXPECT_EQ(compare(group, Group({1, 2, 3}, 2)), MPI_IDENT);
    EXPECT_EQ(compare(group, Group({3, 1, 2}, 1)), MPI_SIMILAR);
    EXPECT_EQ(compare(group, Group({1, 2, 4}, 1)), MPI_UNEQUAL);
    EXPECT_EQ(compare(group, Group({1, 2}, 1)), MPI_UNEQUAL);
    EXPECT_EQ(compare(Group({}, 0), Group({}, 1)), MPI_IDENT);
}

}  // namespace
}  // namespace headway::object
