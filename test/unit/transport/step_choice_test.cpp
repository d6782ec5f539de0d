// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/step_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "platform/cpu.hpp"

namespace headway::transport::shm {
namespace {

constexpr std::size_t kibibyte = 1024;

class Steps : public testing::Test {
  public:
    /// Whether a payload for a receiver who has said `answers` things so far is announced early.
    bool are_several(std::size_t bytes, std::uint64_t answers, bool is_near = true,
                     bool streams = false)
    {
        return choice.step_bytes(bytes, streams, answers, is_near) < bytes;
    }

    StepChoice choice;
};

TEST_F(Steps, OfShortPayloadsAreForAReceiverWhoMayWait)
{
    EXPECT_TRUE(are_several(8 * kibibyte, 1));
    EXPECT_FALSE(are_several(8 * kibibyte, 1)) << "the second one of a burst";
    EXPECT_FALSE(are_several(16 * kibibyte, 1));
    EXPECT_TRUE(are_several(16 * kibibyte, 7)) << "he has answered";
    EXPECT_FALSE(are_several(16 * kibibyte, 9, false)) << "between far cores";
    EXPECT_FALSE(are_several(4 * kibibyte, 11)) << "shorter than two steps";
    EXPECT_TRUE(are_several(16 * kibibyte, 13, false, true)) << "streamed";
    EXPECT_FALSE(are_several(16 * kibibyte, 13, false, true));
}

TEST_F(Steps, OfShortPayloadsAreTwo)
{
    EXPECT_EQ(choice.step_bytes(16 * kibibyte, false, 1, true), 8 * kibibyte);
    EXPECT_EQ(choice.step_bytes(8 * kibibyte, false, 2, true), 4 * kibibyte);
    EXPECT_EQ(choice.step_bytes(32 * kibibyte, false, 3, true), 8 * kibibyte) << "four";
}

TEST_F(Steps, OfOthersAreForAnyReceiver)
{
    for (std::uint64_t answers = 0; answers < 2; ++answers) {
        EXPECT_TRUE(are_several(16 * kibibyte + 1, answers));
        EXPECT_TRUE(are_several(1024 * kibibyte, answers, false));
    }
}

TEST_F(Steps, AreWholeLinesAndNeitherShortNorLong)
{
    std::uint64_t answers = 0;
    for (std::size_t bytes = kibibyte + 1; bytes < 300 * kibibyte; bytes += 777) {
        const std::size_t step = choice.step_bytes(bytes, false, ++answers, true);
        if (step != bytes) {
            EXPECT_EQ(step % platform::cache_line_bytes, 0U) << bytes;
            EXPECT_GE(step, 4 * kibibyte) << bytes;
            EXPECT_LE(step, StepChoice::step_bytes_max) << bytes;
        }
        EXPECT_GE(choice.step_bytes(bytes, true, ++answers, true), std::min(bytes, 8 * kibibyte))
            << bytes;
    }
}

}  // namespace
}  // namespace headway::transport::shm
