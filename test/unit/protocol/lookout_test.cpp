// SPDX-License-Identifier: Apache-2.0
#include "protocol/lookout.hpp"

#include <gtest/gtest.h>

namespace headway::protocol {
namespace {

/// Receives in a row, of which `comes` says whether the message comes while the rank looks on; how
/// many of them looked on.
template <typename Comes>
int count_looks(Lookout& lookout, int receives, const Comes& comes)
{
    int looks = 0;
    for (int receive = 0; receive < receives; ++receive) {
        if (!lookout.looks_on()) {
            continue;
        }
        lookout.tell(comes(looks));
        ++looks;
    }
    return looks;
}

constexpr auto never = [](int) { return false; };
constexpr auto always = [](int) { return true; };

TEST(Lookout, LooksOnWhileThatPays)
{
    Lookout lookout;
    EXPECT_TRUE(lookout.looks_on());
    EXPECT_EQ(count_looks(lookout, 10'000, always), 10'000);
    // A core that is taken away now and then changes nothing.
    EXPECT_EQ(count_looks(lookout, 10'000, [](int look) { return look % 50 != 0; }), 10'000);
}

TEST(Lookout, GivesUpWhereItDoesNot)
{
    Lookout lookout;
    EXPECT_LE(count_looks(lookout, 500, never), 50);
    // What is left are trials.
    EXPECT_LE(count_looks(lookout, 100'000, never), 2'000);
    EXPECT_LE(count_looks(lookout, 100'000, [](int look) { return look % 2 == 0; }), 4'000);
}

TEST(Lookout, NoticesThatItPaysAgain)
{
    Lookout lookout;
    count_looks(lookout, 100'000, never);
    EXPECT_GE(count_looks(lookout, 2'000, always), 1'000);
    EXPECT_EQ(count_looks(lookout, 1'000, always), 1'000);
}

TEST(Lookout, RanksThatReceiveAlikeTryAtTheSameTime)
{
    Lookout one;
    Lookout other;
    int together = 0;
    for (int receive = 0; receive < 100'000; ++receive) {
        const bool looks = one.looks_on();
        EXPECT_EQ(looks, other.looks_on());
        together += looks ? 1 : 0;
        if (looks) {
            one.tell(false);
            other.tell(false);
        }
    }
    EXPECT_GT(together, 1'000);
}

TEST(Lookout, RanksThatMeetOnOneCorePartSoonAndThenSeldom)
{
    Lookout lookout;
    int first_move = 0;
    for (int meeting = 1; first_move == 0; ++meeting) {
        first_move = lookout.meets_sender() ? meeting : 0;
        ASSERT_LT(meeting, 100);
    }
    int moves = 0;
    for (int meeting = 0; meeting < 1'000'000; ++meeting) {
        moves += lookout.meets_sender() ? 1 : 0;
    }
    EXPECT_GT(moves, 100) << "what the system put together once more parts again";
    EXPECT_LT(moves, 1'000) << "to go costs as much as many receives";
}

}  // namespace
}  // namespace headway::protocol
