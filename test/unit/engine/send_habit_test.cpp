// SPDX-License-Identifier: Apache-2.0
// What the library guesses a program does after sends that return at once (docs/design/033).
#include "engine/send_habit.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace headway::engine {
namespace {

constexpr std::uint64_t message_bytes = 64'000;
constexpr std::uint64_t at_once = 100;
constexpr std::uint64_t after_work = 1'000'000;
/// What a call takes to copy such a message: less than its receiver to read it, or about as long.
constexpr std::uint64_t quick_copy = 2'000;
constexpr std::uint64_t dear_copy = 12'000;

/// One is offered, by a call that leaves at once, and the rank is back after so many ticks.
void offer(SendHabit& habit, std::uint64_t copy_ticks, std::uint64_t ticks_away)
{
    constexpr std::uint64_t now = 1'000'000'000;
    habit.note_offered(message_bytes, copy_ticks, now);
    habit.note_return(now + at_once, now + at_once + ticks_away);
}

/// How many messages go whole before one is offered, `most` at most.
std::uint32_t whole_before_trial(SendHabit& habit, std::uint32_t most = 10'000)
{
    std::uint32_t count = 0;
    while (count < most && !habit.is_to_offer()) {
        ++count;
    }
    return count;
}

TEST(SendHabit, TriesSoonAndThenTheMoreSeldomTheMoreOftenItWasInVain)
{
    SendHabit habit;
    std::uint32_t before = whole_before_trial(habit);
    EXPECT_LT(before, 16U);
    for (int trial = 0; trial < 10; ++trial) {
        habit.note_offered(message_bytes, quick_copy, 0);
        EXPECT_TRUE(habit.is_watched());
        habit.note_return(at_once, 2 * at_once);
        EXPECT_FALSE(habit.is_watched());
        const std::uint32_t now = whole_before_trial(habit);
        EXPECT_GE(now, before);
        before = now;
    }
    EXPECT_LT(before, 2'000U) << "a program may change";
    EXPECT_GT(before, 500U) << "a trial costs something";
}

TEST(SendHabit, SaysTheSameUntilTheMessageHasGone)
{
    SendHabit habit;
    (void)whole_before_trial(habit);
    EXPECT_TRUE(habit.is_to_offer());
    habit.note_offered(message_bytes, quick_copy, 0);
    EXPECT_FALSE(habit.is_to_offer());
}

TEST(SendHabit, OffersWhileTheProgramComputes)
{
    SendHabit habit;
    (void)whole_before_trial(habit);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(habit.is_to_offer());
        offer(habit, quick_copy, after_work);
    }
    offer(habit, quick_copy, at_once);
    EXPECT_FALSE(habit.is_to_offer()) << "it waits now, and the copy is quick";
}

/// Of a program that computes after every other message: how many of `messages` are offered.
int offered_of_alternating(std::uint64_t copy_ticks, int messages)
{
    SendHabit habit;
    int offered = 0;
    for (int message = 0; message < messages; ++message) {
        if (habit.is_to_offer()) {
            ++offered;
            offer(habit, copy_ticks, message % 2 == 0 ? at_once : after_work);
        }
    }
    return offered;
}

TEST(SendHabit, WeighsWhatACallIsSparedAgainstWhatTheOthersLose)
{
    EXPECT_GT(offered_of_alternating(dear_copy, 10'000), 9'000);
    EXPECT_LT(offered_of_alternating(quick_copy, 10'000), 500);
}

TEST(SendHabit, IsTriedAtBothOfTwoMessagesThatTakeTurns)
{
    for (const int first : {0, 1}) {
        SendHabit habit;
        int message = first;
        bool has_met[2] = {false, false};
        for (int trial = 0; trial < 8; ++trial) {
            message += static_cast<int>(whole_before_trial(habit)) + 1;
            has_met[message % 2] = true;
            offer(habit, quick_copy, at_once);
        }
        EXPECT_TRUE(has_met[0] && has_met[1]);
    }
}

TEST(SendHabit, GivesUpSoonWhereTheProgramBeginsToWait)
{
    SendHabit habit;
    (void)whole_before_trial(habit);
    for (int i = 0; i < 1000; ++i) {
        offer(habit, dear_copy, after_work);
    }
    int offered = 0;
    while (habit.is_to_offer()) {
        ++offered;
        ASSERT_LT(offered, 20);
        offer(habit, dear_copy, at_once);
    }
}

TEST(SendHabit, GivesUpSoonWhatACopyCostsOrNot)
{
    constexpr std::uint64_t unknown = 0;
    constexpr std::uint64_t dearer_than_reading = 40'000;
    for (const std::uint64_t copy : {unknown, dearer_than_reading}) {
        SendHabit habit;
        offer(habit, copy, after_work);
        EXPECT_TRUE(habit.is_to_offer());
        for (int i = 0; i < 6; ++i) {
            offer(habit, copy, at_once);
        }
        EXPECT_FALSE(habit.is_to_offer()) << copy;
    }
}

TEST(SendHabit, LearnsNothingWhereOtherCallsCameBetween)
{
    SendHabit habit;
    habit.note_offered(message_bytes, dear_copy, 1000);
    habit.note_return(1000 + after_work, 1000 + 2 * after_work);
    EXPECT_FALSE(habit.is_watched());
    EXPECT_FALSE(habit.is_to_offer());
    habit.note_offered(message_bytes, dear_copy, 1000);
    habit.note_return(900, 1000 + after_work);
    EXPECT_FALSE(habit.is_to_offer()) << "it has not left since";
}

TEST(SendHabit, ForgetsAMessageWhoseCallerWaitedForIt)
{
    SendHabit habit;
    offer(habit, quick_copy, after_work);
    habit.note_offered(message_bytes, quick_copy, 0);
    habit.forget();
    EXPECT_FALSE(habit.is_watched());
    EXPECT_TRUE(habit.is_to_offer());
}

}  // namespace
}  // namespace headway::engine
