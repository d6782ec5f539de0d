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
        habit.note_offered(message_bytes);
        EXPECT_TRUE(habit.is_watched());
        habit.note_return(at_once);
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
    habit.note_offered(message_bytes);
    EXPECT_FALSE(habit.is_to_offer());
}

TEST(SendHabit, OffersWhileTheProgramComputes)
{
    SendHabit habit;
    (void)whole_before_trial(habit);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(habit.is_to_offer());
        habit.note_offered(message_bytes);
        habit.note_return(after_work);
    }
    habit.note_offered(message_bytes);
    habit.note_return(at_once);
    EXPECT_FALSE(habit.is_to_offer()) << "it waits now";
}

TEST(SendHabit, ForgetsAMessageWhoseCallerWaitedForIt)
{
    SendHabit habit;
    habit.note_offered(message_bytes);
    habit.note_return(after_work);
    habit.note_offered(message_bytes);
    habit.forget();
    EXPECT_FALSE(habit.is_watched());
    EXPECT_TRUE(habit.is_to_offer());
}

}  // namespace
}  // namespace headway::engine
