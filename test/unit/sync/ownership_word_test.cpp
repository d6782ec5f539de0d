// SPDX-License-Identifier: Apache-2.0
#include "sync/ownership_word.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "process_pair.hpp"

namespace headway::sync {
namespace {

using platform::Deadline;

TEST(OwnershipWord, ZeroBytesAreFree)
{
    Shared<OwnershipWord> word;
    EXPECT_TRUE(word->is_free());
    EXPECT_EQ(word->holder(), -1);
    EXPECT_TRUE(word->enter());
    EXPECT_TRUE(word->is_owned());
    EXPECT_TRUE(word->enter());
    EXPECT_FALSE(word->leave());
    EXPECT_TRUE(word->is_free());
}

TEST(OwnershipWord, OwnerAndHolderExcludeEachOther)
{
    OwnershipWord word;
    ASSERT_TRUE(word.try_enter());
    EXPECT_FALSE(word.try_hold(5));
    EXPECT_FALSE(word.leave());
    ASSERT_TRUE(word.try_hold(5));
    EXPECT_EQ(word.holder(), 5);
    EXPECT_FALSE(word.try_hold(6));
    EXPECT_FALSE(word.try_enter());
    EXPECT_FALSE(word.enter(Deadline::after_ns(1'000'000)));
    EXPECT_EQ(word.holder(), 5);
    EXPECT_FALSE(word.is_parked());
    EXPECT_FALSE(word.release_hold());
    EXPECT_TRUE(word.try_enter());
}

TEST(OwnershipWord, TheLastRankFitsTheWord)
{
    OwnershipWord word;
    ASSERT_TRUE(word.try_hold(OwnershipWord::rank_limit - 1));
    EXPECT_EQ(word.holder(), static_cast<std::int32_t>(OwnershipWord::rank_limit - 1));
    EXPECT_EQ(word.ring(), RingEffect::nothing);
    EXPECT_EQ(word.holder(), static_cast<std::int32_t>(OwnershipWord::rank_limit - 1));
    EXPECT_TRUE(word.release_hold());
}

TEST(OwnershipWord, BellSaysWhatIsToBeDone)
{
    OwnershipWord word;
    EXPECT_EQ(word.ring(), RingEffect::ask_helper);
    EXPECT_EQ(word.ring(), RingEffect::nothing);
    ASSERT_TRUE(word.try_hold(1));
    EXPECT_FALSE(word.is_rung());
    EXPECT_FALSE(word.release_hold());

    ASSERT_TRUE(word.enter());
    EXPECT_EQ(word.ring(), RingEffect::nothing);
    EXPECT_TRUE(word.answer_bell());
    EXPECT_FALSE(word.answer_bell());
    EXPECT_EQ(word.ring(), RingEffect::nothing);
    EXPECT_TRUE(word.leave());
    EXPECT_FALSE(word.is_rung());
}

TEST(OwnershipWord, ParkingMeetsTheBell)
{
    OwnershipWord word;
    ASSERT_TRUE(word.enter());
    EXPECT_EQ(word.ring(), RingEffect::nothing);
    EXPECT_FALSE(word.prepare_park());
    ASSERT_TRUE(word.prepare_park());
    EXPECT_TRUE(word.is_parked());
    EXPECT_FALSE(word.park(Deadline::after_ns(1'000'000)));
    EXPECT_EQ(word.ring(), RingEffect::wake_parked);
    EXPECT_EQ(word.ring(), RingEffect::nothing);
    EXPECT_TRUE(word.park());
    EXPECT_TRUE(word.end_park());
    EXPECT_FALSE(word.is_rung());
    EXPECT_TRUE(word.is_owned());
}

TEST(OwnershipWord, NotifyTouchesOnlySleepers)
{
    OwnershipWord word;
    ASSERT_TRUE(word.enter());
    word.notify_parked();
    EXPECT_FALSE(word.is_rung());
    ASSERT_TRUE(word.prepare_park());
    word.notify_parked();
    EXPECT_TRUE(word.is_rung());
    EXPECT_TRUE(word.park());
    EXPECT_TRUE(word.end_park());
}

TEST(OwnershipWord, NudgeConcernsOnlyAnOwnerInside)
{
    OwnershipWord word;
    word.nudge();
    EXPECT_FALSE(word.is_rung());
    ASSERT_TRUE(word.try_hold(1));
    word.nudge();
    EXPECT_FALSE(word.release_hold());
    ASSERT_TRUE(word.enter());
    word.nudge();
    EXPECT_FALSE(word.prepare_park());
    ASSERT_TRUE(word.prepare_park());
    word.nudge();
    EXPECT_TRUE(word.park());
    EXPECT_TRUE(word.end_park());
}

TEST(OwnershipWord, SurvivorsSeizeWhatTheDeadHeld)
{
    OwnershipWord word;
    EXPECT_FALSE(word.seize(3));
    ASSERT_TRUE(word.try_hold(3));
    EXPECT_FALSE(word.seize(4));
    EXPECT_TRUE(word.seize(3));
    EXPECT_TRUE(word.is_owned());
}

/// The holder is another process; the owner sleeps until it is given the word.
TEST(OwnershipWord, ReleaseWakesTheOwnerOfAnotherProcess)
{
    struct Pair {
        OwnershipWord word;
        std::uint32_t work;  // written by whoever has the word
    };
    Shared<Pair> shared;
    ASSERT_TRUE(shared->word.try_hold(1));
    Child child([&] {
        while (!shared->word.is_parked()) {
            platform::yield_core();
        }
        shared->work = 42;
        return shared->word.release_hold() ? 1 : 0;
    });
    ASSERT_TRUE(shared->word.enter());
    EXPECT_EQ(shared->work, 42U);
    EXPECT_EQ(child.exit_code(), 0);
}

/// Ping-pong of plain messages between two processes that sleep for each one.
TEST(OwnershipWord, NoWakeUpIsLostBetweenProcesses)
{
    struct Side {
        OwnershipWord word;
        alignas(64) std::atomic<std::uint32_t> message;
    };
    struct Table {
        Side sides[2];
    };
    constexpr std::uint32_t rounds = 20'000;
    Shared<Table> table;
    const auto play = [&](unsigned me) {
        Side& mine = table->sides[me];
        Side& other = table->sides[1 - me];
        if (!mine.word.enter()) {
            return 1;
        }
        const auto has_message = [&](std::uint32_t round) {
            return mine.message.load(std::memory_order_acquire) == round;
        };
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            if (me == 0) {
                other.message.store(round, std::memory_order_release);
                other.word.notify_parked();
            }
            while (!has_message(round)) {
                if (mine.word.prepare_park()) {
                    if (!has_message(round)) {
                        mine.word.park();
                    }
                    mine.word.end_park();
                }
            }
            if (me == 1) {
                other.message.store(round, std::memory_order_release);
                other.word.notify_parked();
            }
        }
        return 0;
    };
    Child child([&] { return play(1); });
    EXPECT_EQ(play(0), 0);
    EXPECT_EQ(child.exit_code(), 0);
}

/// Owner and two helpers add to a counter that only the word protects.
TEST(OwnershipWord, OwnerAndHelpersTakeTurns)
{
    constexpr std::uint64_t rounds = 20'000;
    OwnershipWord word;
    std::uint64_t counter = 0;
    const auto help = [&](std::uint32_t who) {
        for (std::uint64_t round = 0; round < rounds;) {
            if (word.try_hold(who)) {
                ++counter;
                ++round;
                (void)word.release_hold();
            } else {
                platform::yield_core();
            }
        }
    };
    std::thread first(help, 1);
    std::thread second(help, 2);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        ASSERT_TRUE(word.enter());
        ++counter;
        (void)word.leave();
    }
    first.join();
    second.join();
    EXPECT_EQ(counter, 3 * rounds);
    EXPECT_TRUE(word.is_free());
}

}  // namespace
}  // namespace headway::sync
