// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/store_choice.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace headway::transport::shm {
namespace {

/// Lets the choice decide about `payloads` of 4 KiB; how many of them were streamed.
int run(StoreChoice& choice, int payloads, std::uint64_t plain, std::uint64_t streaming)
{
    int streamed = 0;
    for (int i = 0; i < payloads; ++i) {
        const bool streams = choice.next_streams();
        if (choice.is_measured()) {
            choice.note(streams, 4096, streams ? streaming : plain);
        }
        streamed += streams ? 1 : 0;
    }
    return streamed;
}

constexpr int many = 6400;

TEST(StoreChoice, StaysWithTheCachesWhereTheyAreShared)
{
    StoreChoice choice;
    EXPECT_LT(run(choice, many, 280, 360), many / 20);
    EXPECT_GT(run(choice, many, 280, 360), 0) << "the other way is tried now and then";
}

TEST(StoreChoice, StreamsWherePlainStoresCostSeveralTimesAsMuch)
{
    StoreChoice choice;
    EXPECT_GT(run(choice, many, 1900, 500), many - many / 20);
}

TEST(StoreChoice, TellsTheCoresOfAZen3)
{
    // Ticks for 4 KiB of 64 (bench_lane).
    StoreChoice near;
    EXPECT_LT(run(near, many, 340, 670), many / 20);
    for (const std::uint64_t plain : {1490U, 1760U, 2390U}) {
        StoreChoice far;
        EXPECT_GT(run(far, many, plain, 680), many - many / 20) << plain;
        EXPECT_FALSE(far.is_near());
    }
}

// As between cores that share no cache, where every seventh payload finds its lines at hand.
TEST(StoreChoice, AFewCheapPayloadsDoNotHideDearOnes)
{
    StoreChoice choice;
    int streamed = 0;
    int measured = 0;
    for (int i = 0; i < many; ++i) {
        const bool streams = choice.next_streams();
        if (choice.is_measured()) {
            choice.note(streams, 4096, streams ? 950 : ++measured % 7 == 0 ? 620 : 1700);
        }
        streamed += streams ? 1 : 0;
    }
    EXPECT_GT(streamed, many - many / 10);
}

TEST(StoreChoice, NewPlacesSayNothing)
{
    StoreChoice choice;
    for (int i = 0; i < 64; ++i) {
        EXPECT_FALSE(choice.next_streams(true));
        EXPECT_FALSE(choice.is_measured());
    }
    EXPECT_EQ(choice.cost(), 0U);
    run(choice, many, 1900, 500);
    EXPECT_TRUE(choice.next_streams(true)) << "as what was chosen last";
    EXPECT_FALSE(choice.is_measured());
}

TEST(StoreChoice, StreamsWhereItIsToldTo)
{
    constexpr StoreChoice::Dear three_quarters{3, 4};
    StoreChoice near(three_quarters);
    EXPECT_LT(run(near, many, 330, 1040), many / 20);
    StoreChoice far(three_quarters);
    EXPECT_GT(run(far, many, 1320, 1020), many - many / 20);
}

TEST(StoreChoice, FollowsRanksThatMove)
{
    StoreChoice choice;
    run(choice, many, 280, 360);
    run(choice, many, 1900, 500);
    EXPECT_GT(run(choice, many, 1900, 500), many - many / 20);
    run(choice, many, 280, 360);
    EXPECT_LT(run(choice, many, 280, 360), many / 20);
}

TEST(StoreChoice, OnePayloadWithoutTheCoreChangesNothing)
{
    StoreChoice choice;
    run(choice, many, 280, 360);
    choice.note(false, 4096, 10'000'000);
    EXPECT_LT(run(choice, 640, 280, 360), 64);
}

}  // namespace
}  // namespace headway::transport::shm
