// SPDX-License-Identifier: Apache-2.0
//
// How a receive looks on where ranks share cores (protocol::Looking): for whom, how long, and when
// one of two partners goes to another core.
#include "protocol/looking.hpp"

#include <gtest/gtest.h>

#include "platform/process.hpp"
#include "platform/thread.hpp"
#include "unit/engine/in_process_node.hpp"

namespace headway::engine {
namespace {

using protocol::Looking;
using protocol::Lookout;

class LookingTest : public testing::Test {
  protected:
    LookingTest() : cpus_(platform::allowed_cpus()) { platform::allow_cpus({cpus_.front()}); }
    ~LookingTest() override { platform::allow_cpus(cpus_); }

    Looking look(std::uint32_t sender, std::uint32_t context = 0)
    {
        receive_.wanted.context = context;
        return Looking(node_.driver(1), receive_, sender);
    }
    Presence& presence(std::uint32_t rank) { return node_.driver(rank).rank().presence; }
    std::uint32_t here() const { return cpus_.front(); }

    static constexpr int receives = 10'000;

    /// How often rank 1 leaves the core where it receives from that sender.
    int count_leaves(std::uint32_t sender)
    {
        int leaves = 0;
        for (int receive = 0; receive < receives; ++receive) {
            platform::allow_cpus({here()});
            const Looking looking = look(sender);
            platform::allow_cpus(cpus_);
            leaves += looking.end(0, false) ? 1 : 0;
        }
        return leaves;
    }

    const std::vector<unsigned> cpus_;
    InProcessNode node_{3};
    QuickReceive receive_;
};

TEST_F(LookingTest, LooksOnForWhoIsOnAnotherCore)
{
    presence(0).come(here() + 1);
    EXPECT_EQ(look(0).polls(), Lookout::polls_max);
    EXPECT_TRUE(look(0).may_come());
    EXPECT_TRUE(presence(1).is_at(here())) << "it says where it is itself";
    presence(0).go();
    EXPECT_FALSE(look(0).may_come()) << "the sender has given its core away";
    presence(0).come(here());
    EXPECT_FALSE(look(0).may_come()) << "it cannot run where this one runs";
}

TEST_F(LookingTest, OfUnknownSendersALookIsShortAndStepsOfCollectivesHaveNone)
{
    const Looking any = look(protocol::any_sender);
    EXPECT_EQ(any.polls(), Lookout::polls_for_any);
    EXPECT_TRUE(any.may_come());
    EXPECT_EQ(look(0, 1).polls(), 1);
}

TEST_F(LookingTest, WhereEachRankHasACoreNobodyShowsWhereHeIs)
{
    node_.node().is_oversubscribed = false;
    EXPECT_EQ(look(0).polls(), 1);
    EXPECT_FALSE(presence(1).is_at(here()));
}

TEST_F(LookingTest, LooksInVainEndAfterAWhile)
{
    presence(0).come(here() + 1);
    int looks = 0;
    for (; look(0).polls() > 1; ++looks) {
        ASSERT_LT(looks, 1000);
        EXPECT_FALSE(look(0).end(Lookout::polls_max, false));
    }
    EXPECT_GT(looks, 10);
}

TEST_F(LookingTest, OfPartnersOnOneCoreTheHigherOneLeaves)
{
    if (cpus_.size() < 2) {
        GTEST_SKIP() << "there is one core only";
    }
    for (const std::uint32_t partner : {0U, 2U}) {
        presence(partner).come(here());
        presence(partner).go();
    }
    EXPECT_EQ(count_leaves(2), 0) << "rank 2 is the one to leave";
    const int leaves = count_leaves(0);
    EXPECT_GT(leaves, 0);
    EXPECT_LT(leaves, receives / 100) << "to leave costs as much as many receives";
}

}  // namespace
}  // namespace headway::engine
