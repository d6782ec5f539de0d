// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/reading_choice.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace headway::transport::shm {
namespace {

/// What messages cost a sender and a receiver, and what becomes of them. The receiver tells of each
/// read before the next message, unless it is told to be silent.
struct Pair {
    ReadingChoice choice;
    ReadingTold told;
    std::uint64_t writing = 400;
    std::uint32_t reading = 500;
    std::uint32_t first_reading = 1500;  ///< of a buffer whose lines the sender has
    std::uint32_t reading_again = 450;   ///< from the receiver's own cache
    bool is_silent = false;
    bool has_read_last = false;
    int checks = 0;  ///< reads that were made twice

    /// True: the message was read.
    bool send()
    {
        const bool reads = choice.is_next_read(told, writing);
        if (reads) {
            const ReadingAsked asked = choice.offer();
            checks += asked.is_checked ? 1 : 0;
            if (!is_silent) {
                told = ReadingChoice::told(asked.number, ReadingChoice::cost_bytes,
                                           {has_read_last ? reading : first_reading,
                                            asked.is_checked ? reading_again : 0});
            }
        } else {
            choice.note_written(choice.is_measuring() ? writing : 0);
        }
        has_read_last = reads;
        return reads;
    }

    /// How many of so many were read.
    int send_all(int messages)
    {
        int reads = 0;
        for (int i = 0; i < messages; ++i) {
            reads += send() ? 1 : 0;
        }
        return reads;
    }
};

constexpr int many = 20'000;
constexpr int few = 300;

TEST(ReadingChoice, ReadsWhatTheReadersCacheHolds)
{
    Pair pair;
    EXPECT_EQ(pair.send_all(15), 0) << "nothing is known";
    EXPECT_GT(pair.send_all(few), few * 3 / 4);
    EXPECT_GT(pair.send_all(many), many - many / 20);
    EXPECT_LT(pair.send_all(many), many) << "the lane is tried now and then";
}

TEST(ReadingChoice, WritesWhatTheSenderHasWritten)
{
    Pair pair;
    pair.reading = 1000;
    EXPECT_LT(pair.send_all(few), few / 10);
    EXPECT_LT(pair.send_all(many), many / 100);
    EXPECT_GT(pair.send_all(many), 0) << "reads are tried now and then";
}

TEST(ReadingChoice, WritesWhatIsAsDearAgainHoweverDearTheLaneLooks)
{
    Pair pair;
    pair.writing = 1000;
    pair.reading = 1000;
    EXPECT_LT(pair.send_all(few), few / 10);
    EXPECT_LT(pair.send_all(many), many / 100);
}

TEST(ReadingChoice, FollowsAProgramThatChanges)
{
    Pair pair;
    pair.send_all(few);
    pair.reading = 1000;
    EXPECT_LT(pair.send_all(few), few / 10);
    pair.send_all(many);
    pair.reading = 500;
    EXPECT_GT(pair.send_all(many), many * 3 / 4);
}

TEST(ReadingChoice, AReadThatTookLongForAnotherReasonIsNoSignOfTheOwnCache)
{
    Pair pair;
    pair.send_all(few);
    // What the sender has written, where the lane is dear, too.
    pair.writing = 1000;
    pair.reading = 700;
    EXPECT_GT(pair.send_all(few), few / 2);
    EXPECT_LT(pair.send_all(many), many / 50) << "checked after each trial of the lane";
}

TEST(ReadingChoice, GoesOnWhereReadsOfTheOwnCacheHaveBecomeSlower)
{
    Pair pair;
    pair.writing = 1000;
    pair.send_all(few);
    pair.reading = 800;  // as beside a peer that reads, too
    pair.reading_again = 750;
    EXPECT_GT(pair.send_all(many), many * 9 / 10);
    EXPECT_LT(pair.checks, many / 100);
    pair.reading_again = 450;
    EXPECT_LT(pair.send_all(many), many / 50) << "it is another one's";
}

TEST(ReadingChoice, FewReadsAreMadeTwice)
{
    Pair pair;
    pair.send_all(many);
    EXPECT_LT(pair.checks, many / 100);
    EXPECT_GT(pair.checks, 0);
}

TEST(ReadingChoice, FollowsCoresThatComeNearer)
{
    Pair pair;
    pair.send_all(few);
    pair.writing = 100;
    EXPECT_LT(pair.send_all(many), many / 20);
}

TEST(ReadingChoice, OneReadWithoutTheCoreChangesNothing)
{
    Pair pair;
    pair.send_all(few);
    for (int i = 0; i < 10; ++i) {
        pair.told = {pair.choice.offer().number, 100'000};
        EXPECT_GT(pair.send_all(20), 0) << i;
    }
}

TEST(ReadingChoice, ALastReadOfATrialWithoutTheCoreDecidesNothing)
{
    Pair pair;
    EXPECT_EQ(pair.send_all(15 + 3), 3);
    pair.reading = 50'000;
    EXPECT_TRUE(pair.send());
    pair.reading = 500;
    EXPECT_EQ(pair.send_all(50), 50);
}

TEST(ReadingChoice, OfAWindowOfTwoOneIsEnoughToHearOf)
{
    Pair pair;
    int reads = 0;
    for (int window = 0; window < few; ++window) {
        // Both are offered before the first one is heard of; then the second one covers its word.
        const ReadingTold before = pair.told;
        reads += pair.send() ? 1 : 0;
        const ReadingTold first = std::exchange(pair.told, before);
        reads += pair.send() ? 1 : 0;
        pair.told = pair.told.number != before.number ? pair.told : first;
    }
    EXPECT_GT(reads, few);
}

// A sender that computes beside every second of its messages.
TEST(ReadingChoice, HalvesThatOneRankCopiesAloneEveryOtherTimeAreGivenUp)
{
    for (const bool is_told : {true, false}) {
        Pair pair;
        pair.send_all(few);
        int reads = 0;
        for (int message = 0; message < many; ++message) {
            const ReadingTold before = pair.told;
            const bool is_read = pair.send();
            reads += is_read ? 1 : 0;
            if (!is_read || message % 2 != 0) {
                continue;
            }
            if (is_told) {
                pair.told.from = ReadFrom::both_halves;
            } else {
                pair.told = before;
                pair.choice.note_both_halves();
            }
        }
        EXPECT_LT(reads, many / 100) << is_told;
        EXPECT_GT(pair.send_all(many), many * 3 / 4) << "it waits for all again";
    }
}

TEST(ReadingChoice, NothingIsReadOnWhereNobodyTells)
{
    Pair pair;
    pair.is_silent = true;
    EXPECT_LT(pair.send_all(many), many / 100);
    pair.is_silent = false;
    EXPECT_GT(pair.send_all(many), many * 3 / 4);
}

TEST(ReadingChoice, PaysLessWhereTheReceiverCopiesMeanwhile)
{
    Pair asking;
    asking.reading = 700;  // 1.75 times the writing
    asking.reading_again = 690;
    EXPECT_GT(asking.send_all(many), many / 2);
    Pair in_steps;
    in_steps.choice = ReadingChoice(Reading::measured, ReadingChoice::halves_in_steps);
    in_steps.reading = 700;
    in_steps.reading_again = 690;
    EXPECT_LT(in_steps.send_all(many), many / 20);
    in_steps.reading = 550;
    in_steps.reading_again = 540;
    EXPECT_GT(in_steps.send_all(many), many / 2);
}

TEST(ReadingChoice, DoesAsItIsTold)
{
    Pair pair;
    pair.choice = ReadingChoice(Reading::never);
    EXPECT_EQ(pair.send_all(few), 0);
    pair.choice = ReadingChoice(Reading::always);
    EXPECT_EQ(pair.send_all(few), few);
}

TEST(ReadingChoice, WhatIsReadForAnotherReasonBringsNoTrialNearer)
{
    Pair other;
    for (int i = 0; i < few; ++i) {
        ASSERT_FALSE(other.choice.is_next_read(other.told, other.writing)) << i;
        EXPECT_FALSE(other.choice.reads_next());
        const ReadingAsked asked = other.choice.offer_beside();
        EXPECT_EQ(asked.number, static_cast<std::uint32_t>(i) + 1);
        EXPECT_FALSE(asked.is_checked);
        other.told = ReadingChoice::told(asked.number, ReadingChoice::cost_bytes, {500, 0});
    }
    // From here on as one that has had no message yet.
    Pair fresh;
    for (int i = 0; i < few; ++i) {
        ASSERT_EQ(other.send(), fresh.send()) << i;
    }
}

TEST(ReadingChoice, NumbersAreNeverZero)
{
    ReadingChoice choice;
    EXPECT_EQ(choice.offer().number, 1U);
    EXPECT_EQ(choice.offer().number, 2U);
}

TEST(ReadingTold, IsAWord)
{
    for (const ReadingTold told :
         {ReadingTold{7, 1'000'000'000, ReadFrom::both_halves},
          ReadingTold{UINT32_MAX, ReadingTold::cost_max}, ReadingTold{1, 1, ReadFrom::own_cache}}) {
        EXPECT_EQ(ReadingTold::of_word(told.word()), told);
    }
    EXPECT_EQ(ReadingTold::of_word(0).number, 0U);
}

TEST(ReadingTold, CostsAreOfFourKibibytes)
{
    EXPECT_EQ(ReadingChoice::cost_of(65'536, 16'000), 1001U);
    EXPECT_EQ(ReadingChoice::cost_of(32'768, 0), 1U);
    EXPECT_EQ(ReadingChoice::cost_of(32'768, UINT64_MAX / 8192), ReadingTold::cost_max);
}

TEST(ReadingTold, WhatCostsAsMuchAgainCameFromTheOwnCache)
{
    EXPECT_EQ(ReadingChoice::told(1, 65'536, {9'000, 0}).from, ReadFrom::unknown);
    EXPECT_EQ(ReadingChoice::told(1, 65'536, {9'000, 8'000}).from, ReadFrom::own_cache);
    EXPECT_EQ(ReadingChoice::told(1, 65'536, {16'000, 8'000}).from, ReadFrom::other_cache);
}

}  // namespace
}  // namespace headway::transport::shm
