// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/early_choice.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "platform/cpu.hpp"
#include "transport/shm/lane_frame.hpp"

namespace headway::transport::shm {
namespace {

/// How many of `frames` early frames are copied by asking ahead, where each way takes so many
/// ticks.
int count_asking(EarlyChoice& choice, int frames, std::uint64_t asking, std::uint64_t plain)
{
    EarlyFrame frame;
    frame.early_bytes = 16 * 1024;
    frame.is_cached = true;
    int asked = 0;
    for (int i = 0; i < frames; ++i) {
        const EarlyWay way = choice.next(frame);
        asked += way.asks_ahead ? 1 : 0;
        while (way.begin != 0 &&
               platform::ticks() - way.begin < (way.asks_ahead ? asking : plain)) {
        }
        choice.note(way, frame.early_bytes);
    }
    return asked;
}

TEST(EarlyChoice, TakesTheWayThatTakesLess)
{
    constexpr std::uint64_t brief = 10'000;
    constexpr int frames = 1000;
    EarlyChoice choice;
    EXPECT_LT(count_asking(choice, frames, 10 * brief, brief), frames / 10);
    EarlyChoice other;
    EXPECT_GT(count_asking(other, frames, brief, 10 * brief), frames - frames / 10);
}

TEST(EarlyChoice, LeavesShortAndStreamedFramesAsTheyAre)
{
    EarlyChoice choice;
    EarlyFrame brief;
    brief.early_bytes = 2048;
    brief.is_cached = true;
    EarlyFrame streamed;
    streamed.early_bytes = 16 * 1024;
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(choice.next(brief).asks_ahead);
        EXPECT_FALSE(choice.next(streamed).asks_ahead);
        EXPECT_EQ(choice.next(streamed).begin, 0U) << "nothing to find out";
    }
}

}  // namespace
}  // namespace headway::transport::shm
