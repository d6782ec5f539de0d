// SPDX-License-Identifier: Apache-2.0
//
// How many cores each rank of a node has to itself, by what its first process sees.
#include <gtest/gtest.h>

#include "object/process.hpp"

namespace headway::object {
namespace {

TEST(InstanceCount, RanksShareTheCoresOfAJobThatIsNotBound)
{
    EXPECT_EQ(cores_a_rank(16, 16, 2), 8U);
    EXPECT_EQ(cores_a_rank(2, 2, 16), 0U);
}

TEST(InstanceCount, AJobThatIsBoundAsAWholeIsSharedToo)
{
    EXPECT_EQ(cores_a_rank(4, 4, 2), 2U);
}

TEST(InstanceCount, AProcessThatIsBoundAloneHasItsCoresToItself)
{
    EXPECT_EQ(cores_a_rank(8, 16, 2), 8U);
    EXPECT_EQ(cores_a_rank(1, 16, 16), 1U);
}

TEST(InstanceCount, ABoundProcessOfSeveralRanksSharesThemOut)
{
    EXPECT_EQ(cores_a_rank(8, 16, 8), 2U);
}

TEST(InstanceCount, NoRankHasMoreCoresThanItsProcess)
{
    EXPECT_EQ(cores_a_rank(1, 16, 2), 1U);
}

TEST(InstanceCount, AParentOfWhomNothingIsKnownIsLeftOut)
{
    EXPECT_EQ(cores_a_rank(8, 0, 2), 4U);
}

}  // namespace
}  // namespace headway::object
