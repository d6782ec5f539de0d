// SPDX-License-Identifier: Apache-2.0
//
// What sleeping on a network's descriptor must keep: who has prepared to sleep is woken by a frame,
// and by nothing else for ever, and owes nobody anything. Counts wake-ups; there is no bound of
// time in it.
#include <gtest/gtest.h>

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/ofi_link.hpp"
#include "platform/cpu.hpp"

namespace headway::transport {
namespace {

constexpr int messages = 50;
/// Wake-ups for nothing that one message may cause: its completions at both ends.
constexpr int needless_max = 4;

bool is_readable(int descriptor, int timeout_ms)
{
    pollfd asked{descriptor, POLLIN, 0};
    return ::poll(&asked, 1, timeout_ms) > 0;
}

class OfiSleepTest : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override
    {
        link.open(GetParam());
        if (!link.why_not().empty()) {
            GTEST_SKIP() << link.why_not();
        }
        if (descriptor() < 0) {
            GTEST_SKIP() << "the provider " << GetParam() << " has no descriptor to sleep on";
        }
        // Connections are made, and their wake-ups are over.
        for (int number = 0; number < 3; ++number) {
            exchange();
        }
    }

    Port& sender() { return link.port(0); }
    Port& receiver() { return link.port(1); }
    int descriptor() { return link.network(1).descriptor(); }

    /// Moves what the sender has under way; nothing comes to it.
    void move_sender()
    {
        Frame frame;
        std::uint32_t from = 0;
        ASSERT_FALSE(sender().poll(frame, from));
    }

    /// A frame, taken without sleep.
    void exchange()
    {
        Frame frame;
        std::uint32_t from = 0;
        ASSERT_EQ(link.post(FrameKind::eager, {}, nullptr, 0), base::Status::done);
        ASSERT_TRUE(link.poll(frame));
        link.release();
        while (sender().has_unsent()) {
            ASSERT_NO_FATAL_FAILURE(move_sender());
        }
        (void)receiver().poll(frame, from);
    }

    /// Polls until the receiver may sleep; false: there is a frame.
    bool prepare()
    {
        Frame frame;
        std::uint32_t from = 0;
        do {
            if (receiver().poll(frame, from)) {
                return false;
            }
        } while (!receiver().prepare_sleep());
        return true;
    }

    OfiEndpoint link;
};

TEST_P(OfiSleepTest, WhoSleepsIsNotWokenForNothingForEver)
{
    // Something came before, so whatever says so has been set.
    int wakes = 0;
    for (int turn = 0; turn < 1000; ++turn) {
        ASSERT_TRUE(prepare());
        wakes += is_readable(descriptor(), 0) ? 1 : 0;
    }
    EXPECT_LE(wakes, 2 * needless_max);
}

TEST_P(OfiSleepTest, AFrameWakesWhoSleeps)
{
    int wakes = 0;
    for (int number = 0; number < messages; ++number) {
        ASSERT_TRUE(prepare());
        ASSERT_EQ(sender().post(1, FrameKind::eager, {}, &number, sizeof number),
                  base::Status::done);
        Frame frame;
        std::uint32_t from = 0;
        bool has_slept = false;
        bool is_woken = false;
        while (!receiver().poll(frame, from)) {
            ASSERT_TRUE(link.network(1).failure().empty()) << link.network(1).failure();
            ASSERT_NO_FATAL_FAILURE(move_sender());
            if (receiver().prepare_sleep()) {
                // The sleep ends now and then only so that the sender moves on.
                const bool is_called = is_readable(descriptor(), 1000);
                has_slept = true;
                is_woken = is_woken || is_called;
                wakes += is_called ? 1 : 0;
            }
        }
        EXPECT_TRUE(is_woken || !has_slept) << "frame " << number << " came and woke nobody";
        EXPECT_EQ(frame.payload_bytes, sizeof number);
        receiver().release();
    }
    EXPECT_LE(wakes, messages * needless_max);
}

/// The receiver has taken so much that it has to tell the sender, and does not look again before it
/// goes: as a rank whose looks find the endpoint taken by others of its process.
class OfiDebtTest : public OfiSleepTest {
  protected:
    void SetUp() override
    {
        OfiSleepTest::SetUp();
        Frame frame;
        while (!IsSkipped() && !HasFatalFailure() && !receiver().has_unsent()) {
            ASSERT_EQ(link.post(FrameKind::eager, {}, payload.data(), payload.size()),
                      base::Status::done);
            ASSERT_TRUE(link.poll(frame));
            link.release();
        }
    }

    /// The sender alone looks, and has its whole window again.
    void expect_all_room()
    {
        constexpr std::size_t frames = 256 * 1024 / (16 * 1024);
        constexpr int looks = 20'000;
        std::size_t posted = 0;
        for (int look = 0; look < looks && posted < frames; ++look) {
            ASSERT_NO_FATAL_FAILURE(move_sender());
            const base::Status status =
                sender().post(1, FrameKind::eager, {}, payload.data(), payload.size());
            posted += status == base::Status::done ? 1 : 0;
            platform::yield_core();
        }
        EXPECT_EQ(posted, frames) << "the sender was not told what has been taken";
    }

    const std::vector<std::byte> payload = std::vector<std::byte>(OfiEndpoint::frame_bytes_max());
};

TEST_P(OfiDebtTest, WhatWasTakenIsToldBeforeTheRankSleeps)
{
    while (!receiver().prepare_sleep()) {
    }
    expect_all_room();
}

TEST_P(OfiDebtTest, WhatWasTakenIsToldBeforeTheRankComputes)
{
    ASSERT_TRUE(receiver().prepare_absence());
    expect_all_room();
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiSleepTest, ::testing::Values("tcp", "net", "sockets"),
                         &name_of_provider);
INSTANTIATE_TEST_SUITE_P(Providers, OfiDebtTest, ::testing::Values("tcp", "net", "sockets"),
                         &name_of_provider);

}  // namespace
}  // namespace headway::transport
