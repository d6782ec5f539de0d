// SPDX-License-Identifier: Apache-2.0
//
// Short frames of a burst wait for each other and go as one packet: all of them arrive, in order,
// whoever sends them off; what is no burst waits for nobody.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "conformance/ofi_link.hpp"

namespace headway::transport {
namespace {

/// More than go at once, and fewer than fill a packet.
constexpr std::uint32_t burst = 8;

class OfiHoldTest : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override
    {
        link.open(GetParam(), true);
        if (!link.why_not().empty()) {
            GTEST_SKIP() << link.why_not();
        }
        // The connection is made, so no frame is refused for the want of it.
        ASSERT_EQ(link.post(FrameKind::eager, {}, nullptr, 0), base::Status::done);
        Frame frame;
        ASSERT_TRUE(link.poll(frame));
        link.release();
        while (sender().has_unsent()) {
            look();
        }
    }

    Port& sender() { return link.port(0); }
    void look()
    {
        Frame frame;
        std::uint32_t from = 0;
        ASSERT_FALSE(sender().poll(frame, from));
        take_arrived();
    }
    /// Over some providers nothing has left before the other end has taken it.
    void take_arrived()
    {
        Frame frame;
        std::uint32_t from = 0;
        ASSERT_TRUE(link.network(1).failure().empty()) << link.network(1).failure();
        for (bool is_there = link.port(1).poll(frame, from); is_there;
             is_there = link.port(1).poll_next(frame, from)) {
            const std::uint32_t number = frame.header.sequence;
            EXPECT_EQ(number, arrived) << "not in order";
            EXPECT_EQ(frame.payload_bytes, bytes_of(number));
            for (std::size_t i = 0; i < frame.payload_bytes; ++i) {
                ASSERT_EQ(static_cast<const std::byte*>(frame.payload)[i],
                          static_cast<std::byte>(number));
            }
            ++arrived;
        }
    }
    /// All that is on its way comes.
    void expect_arrival(std::uint32_t posted)
    {
        while (arrived < posted && !HasFailure()) {
            (void)sender().settle();  // moves what was given to the provider
            take_arrived();
        }
        EXPECT_EQ(arrived, posted);
    }

    base::Status post_one(std::uint32_t number, FrameKind kind)
    {
        const std::size_t bytes = bytes_of(number);
        std::vector<std::byte> payload(bytes, static_cast<std::byte>(number));
        return sender().post(1, kind, {.sequence = number}, payload.data(), bytes);
    }

    /// Posts frames until some are held, which a sender who loses its core between two of them
    /// does not reach at once; their number.
    std::uint32_t post_burst()
    {
        std::uint32_t posted = 0;
        for (int tries = 0; tries < 1000 && !sender().has_held(); ++tries) {
            look();
            for (std::uint32_t i = 0; i < burst; ++i) {
                EXPECT_EQ(post_one(posted, FrameKind::eager), base::Status::done);
                ++posted;
            }
        }
        EXPECT_TRUE(sender().has_held());
        return posted;
    }

    std::size_t (*bytes_of)(std::uint32_t number) = [](std::uint32_t number) -> std::size_t {
        return number % 64;
    };
    std::uint32_t arrived = 0;
    OfiEndpoint link;
};

TEST_P(OfiHoldTest, HeldFramesGoWithTheNextPoll)
{
    const std::uint32_t posted = post_burst();
    while (sender().has_held() || sender().has_unsent()) {
        ASSERT_NO_FATAL_FAILURE(look());
    }
    expect_arrival(posted);
}

TEST_P(OfiHoldTest, HeldFramesGoBeforeTheirRankSleeps)
{
    const std::uint32_t posted = post_burst();
    while (!sender().prepare_sleep()) {
        ASSERT_NO_FATAL_FAILURE(look());
    }
    EXPECT_FALSE(sender().has_held());
    expect_arrival(posted);
}

TEST_P(OfiHoldTest, OthersSendThemForARankThatDoesNotLook)
{
    const std::uint32_t posted = post_burst();
    std::vector<std::uint32_t> called;
    while (!link.network(0).send_held(called)) {
        take_arrived();
    }
    EXPECT_FALSE(sender().has_held());
    EXPECT_FALSE(sender().has_unsent());
    expect_arrival(posted);
}

TEST_P(OfiHoldTest, WhatIsNoBurstIsNotHeld)
{
    for (std::uint32_t number = 0; number < 20; ++number) {
        ASSERT_EQ(post_one(number, FrameKind::eager), base::Status::done);
        EXPECT_FALSE(sender().has_held()) << "looks lie between them";
        ASSERT_NO_FATAL_FAILURE(look());
    }
    // The receiver has to do something for these.
    for (std::uint32_t number = 20; number < 40; ++number) {
        ASSERT_EQ(post_one(number, FrameKind::distant_request), base::Status::done);
        EXPECT_FALSE(sender().has_held());
    }
    expect_arrival(40);
}

TEST_P(OfiHoldTest, FramesOfAllLengthsAndKindsStayInOrder)
{
    bytes_of = [](std::uint32_t number) -> std::size_t {
        constexpr std::size_t sizes[] = {0, 1, 8, 13, 64, 500, 512, 513, 4000, 16000, 3, 40};
        return sizes[number % std::size(sizes)];
    };
    constexpr std::uint32_t frames = 600;
    for (std::uint32_t posted = 0; posted < frames && !HasFailure();) {
        const FrameKind kind = posted % 31 == 30 ? FrameKind::distant_bytes : FrameKind::eager;
        if (post_one(posted, kind) == base::Status::done) {
            ++posted;
        } else {
            ASSERT_NO_FATAL_FAILURE(look());
        }
    }
    while ((sender().has_held() || sender().has_unsent()) && !HasFailure()) {
        ASSERT_NO_FATAL_FAILURE(look());
    }
    expect_arrival(frames);
}

TEST_P(OfiHoldTest, ALongFrameJoinsOthersOnlyWhereAllOfItFits)
{
    // Frames of one byte, each 64 bytes behind the last one, then a long one about as long as the
    // packet has room for, however many were held.
    static std::size_t long_bytes = 0;
    static std::uint32_t long_number = 0;
    bytes_of = [](std::uint32_t number) -> std::size_t {
        return number == long_number ? long_bytes : 1;
    };
    std::uint32_t posted = 0;
    for (std::size_t held = 1; held <= burst; ++held) {
        for (std::size_t over = 0; over <= ofi::frame_alignment; ++over) {
            long_number = UINT32_MAX;
            for (int tries = 0; tries < 1000 && !sender().has_held(); ++tries) {
                ASSERT_NO_FATAL_FAILURE(look());
                for (std::uint32_t i = 0; i < held + 2; ++i) {
                    ASSERT_EQ(post_one(posted, FrameKind::eager), base::Status::done);
                    ++posted;
                }
            }
            ASSERT_TRUE(sender().has_held());
            long_number = posted;
            long_bytes = OfiEndpoint::frame_bytes_max() - held * 64 + over;
            ASSERT_EQ(post_one(posted, FrameKind::eager), base::Status::done);
            ++posted;
            while ((sender().has_held() || sender().has_unsent()) && !HasFailure()) {
                ASSERT_NO_FATAL_FAILURE(look());
            }
            ASSERT_NO_FATAL_FAILURE(expect_arrival(posted));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiHoldTest, ::testing::Values("tcp", "net", "sockets"),
                         &name_of_provider);

}  // namespace
}  // namespace headway::transport
