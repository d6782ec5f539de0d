// SPDX-License-Identifier: Apache-2.0
//
// Ranks that meet get what their messages would have brought them, to the bit, and nobody leaves
// before all have come.
#include "engine/meeting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "meeting_ranks.hpp"

namespace headway::engine {
namespace {

using protocol::coll::Algorithm;

class MeetingTest : public MeetingRanks {
  protected:
    void meet_often()
    {
        constexpr int rounds = 500;
        const double ranks = node_.size();
        run_threads([&](std::uint32_t rank) {
            for (int round = 0; round < rounds; ++round) {
                double value = rank + 10.0 * round;
                meet(rank, one_double(nullptr, &value));
                ASSERT_EQ(value, ranks * (ranks - 1) / 2 + ranks * 10 * round) << "round " << round;
            }
        });
        leave();
    }

    static GraphArguments one_double(const double* send, double* receive)
    {
        return {.send = send,
                .receive = receive,
                .count = 1,
                .element_bytes = sizeof(double),
                .reduction = sum_of_doubles};
    }
};

TEST_P(MeetingTest, CombinesAsMessagesDo)
{
    prepare(Algorithm::allreduce_linear);
    // Sums of these depend on the order in which they are added.
    std::vector<double> parts(node_.size());
    for (std::uint32_t rank = 0; rank < node_.size(); ++rank) {
        parts[rank] = rank % 2 == 0 ? 1e16 / (rank + 1) : 3.3 / (rank + 1);
    }
    std::vector<double> wanted(node_.size());
    send_messages([&](std::uint32_t rank) { return one_double(&parts[rank], &wanted[rank]); });
    run_threads([&](std::uint32_t rank) {
        double result = 0;
        meet(rank, one_double(&parts[rank], &result));
        EXPECT_EQ(result, wanted[rank]) << "rank " << rank;
    });
    leave();
}

TEST_P(MeetingTest, MeetsAgainAndAgain)
{
    prepare(Algorithm::allreduce_linear, true);
    meet_often();
}

TEST_P(MeetingTest, MeetsInAnyNumberOfGroups)
{
    for (const std::size_t groups : {1U, 3U, 8U}) {
        prepare(Algorithm::allreduce_linear, true, groups);
        meet_often();
    }
}

/// As user-level ranks do, who look for the other leads before they sleep.
TEST_P(MeetingTest, MeetsWhereLeadsLookFirst)
{
    node_.node().shares_workers = true;
    prepare(Algorithm::allreduce_linear, true);
    meet_often();
}

TEST_P(MeetingTest, NobodyLeavesBeforeAllHaveCome)
{
    constexpr std::uint32_t rounds = 300;
    prepare(Algorithm::barrier_linear);
    std::atomic<std::uint32_t> begun{0};
    run_threads([&](std::uint32_t rank) {
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            ++begun;
            meet(rank, {});
            EXPECT_GE(begun.load(), round * node_.size());
        }
    });
    leave();
}

TEST_P(MeetingTest, TheLastOneToLeaveFreesThePlace)
{
    prepare(Algorithm::barrier_linear);
    const std::uint64_t before = node_.bytes_in_use();
    for (std::uint32_t rank = 0; rank < node_.size(); ++rank) {
        EXPECT_EQ(node_.bytes_in_use(), before) << "rank " << rank;
        leave_meeting(node_.driver(rank).allocator(), seats_[rank]);
    }
    EXPECT_LT(node_.bytes_in_use(), before);
}

TEST_P(MeetingTest, IsForFewBytesOfRanksThatShareCores)
{
    prepare(Algorithm::allreduce_linear);
    double value = 0;
    GraphArguments arguments = one_double(&value, &value);
    EXPECT_TRUE(can_meet(0, arguments));

    arguments.count = meeting_bytes_max / sizeof(double);
    EXPECT_TRUE(can_meet(0, arguments));
    ++arguments.count;
    EXPECT_FALSE(can_meet(0, arguments));

    arguments = one_double(&value, &value);
    arguments.reduction.user_op = 1;  // runs in its own rank only
    EXPECT_FALSE(can_meet(0, arguments));

    arguments = one_double(&value, &value);
    node_.node().is_oversubscribed = false;
    EXPECT_FALSE(can_meet(0, arguments));
    node_.node().is_oversubscribed = true;
    node_.node().directory.lets_meet = false;
    EXPECT_FALSE(can_meet(0, arguments));
    leave();
}

TEST_P(MeetingTest, OtherAlgorithmsSendMessages)
{
    prepare(Algorithm::barrier_dissemination);
    EXPECT_FALSE(can_meet(0, {}));
    leave();
}

INSTANTIATE_TEST_SUITE_P(Ranks, MeetingTest, testing::Values(1U, 2U, 3U, 5U, 8U));

}  // namespace
}  // namespace headway::engine
