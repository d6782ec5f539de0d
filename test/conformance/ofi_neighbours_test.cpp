// SPDX-License-Identifier: Apache-2.0
//
// Ranks of one process on one endpoint: what one of them reads from it for another one, who sleeps,
// is not left lying, whatever the one was about. Nobody else would hear of it.
#include <gtest/gtest.h>

#include <poll.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "conformance/ofi_link.hpp"

namespace headway::transport {
namespace {

constexpr std::uint32_t far_rank = 0;
constexpr std::uint32_t sleeper = 1;
constexpr std::uint32_t busy_rank = 2;

class OfiNeighboursTest : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override
    {
        open(0, far_rank, 1);
        open(1, sleeper, 2);
        if (IsSkipped()) {
            return;
        }
        for (const std::uint32_t rank : {sleeper, busy_rank}) {
            ASSERT_TRUE(networks[0]->introduce(rank, networks[1]->address(), "there"));
        }
        ASSERT_TRUE(networks[1]->introduce(far_rank, networks[0]->address(), "here"));
        // Connections are made.
        send(port_far(), busy_rank);
        await([&] { return !take(port_far()) && take(port_busy()); });
        send(port_busy(), far_rank);
        await([&] { return !take(port_busy()) && take(port_far()); });
        await([&] {
            (void)take(port_busy());
            (void)take(port_far());
            return !port_busy().has_unsent() && !port_far().has_unsent();
        });
    }

    void open(std::size_t place, std::uint32_t own_rank, std::uint32_t own_count)
    {
        NetworkOptions options;
        options.own_rank = own_rank;
        options.own_count = own_count;
        options.rank_count = 3;
        std::string why_not;
        networks.at(place) = open_network(GetParam(), options, why_not);
        if (networks.at(place) == nullptr) {
            GTEST_SKIP() << why_not;
        }
    }

    Port& port_far() { return networks[0]->port(far_rank); }
    Port& port_sleeper() { return networks[1]->port(sleeper); }
    Port& port_busy() { return networks[1]->port(busy_rank); }

    template <typename Condition>
    void await(Condition&& condition)
    {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing moves";
            for (const auto& network : networks) {
                ASSERT_TRUE(network->failure().empty()) << network->failure();
            }
        }
    }
    /// Posts a frame, however often it is refused.
    void send(Port& from, std::uint32_t to)
    {
        await([&] {
            const bool is_posted =
                from.post(to, FrameKind::eager, {}, nullptr, 0) == base::Status::done;
            if (!is_posted) {
                (void)take(port_far());
                (void)take(port_busy());
            }
            return is_posted;
        });
    }
    /// Whether a frame was there.
    static bool take(Port& port)
    {
        Frame frame;
        std::uint32_t from = 0;
        const bool is_there = port.poll(frame, from);
        while (is_there && port.poll_next(frame, from)) {
        }
        return is_there;
    }
    /// Whether the busy rank has been told to ring the sleeper.
    bool has_called()
    {
        std::uint32_t called = 0;
        bool is_called = false;
        while (port_busy().poll_called(called)) {
            is_called = is_called || called == sleeper;
        }
        return is_called;
    }
    /// Whether who sleeps on the descriptor would wake, or looks now and then for the want of one.
    bool would_wake()
    {
        pollfd asked{networks[1]->descriptor(), POLLIN, 0};
        return asked.fd < 0 || ::poll(&asked, 1, 0) > 0;
    }
    void put_to_sleep()
    {
        await([&] {
            (void)take(port_sleeper());
            return port_sleeper().prepare_sleep();
        });
        (void)has_called();
    }

    std::array<std::unique_ptr<ofi::OfiNetwork>, 2> networks;
};

TEST_P(OfiNeighboursTest, WhoIsAboutToLeaveLeavesNothingOfOthers)
{
    put_to_sleep();
    send(port_far(), sleeper);
    await([&] {
        (void)take(port_far());
        // As a rank does that has sent something and goes to compute.
        send(port_busy(), far_rank);
        return !port_busy().settle();
    });
    EXPECT_TRUE(has_called());
    EXPECT_TRUE(take(port_sleeper()));
}

TEST_P(OfiNeighboursTest, WhoIsAboutToSleepLeavesNothingOfOthers)
{
    // The frame comes in while the busy rank lies down: seldom between its last look at the
    // descriptor and that at the completions.
    constexpr int times = 2000;
    for (int time = 0; time < times && !HasFailure(); ++time) {
        put_to_sleep();
        std::atomic<bool> is_posted{false};
        std::thread far([&] {
            while (!is_posted) {
                is_posted = port_far().post(sleeper, FrameKind::eager, {}, nullptr, 0) ==
                            base::Status::done;
                (void)take(port_far());
            }
        });
        await([&] {
            // It does not look for more: what it waited for has come by another way.
            (void)port_busy().prepare_sleep();
            return is_posted && (has_called() || would_wake());
        });
        is_posted = true;
        far.join();
        await([&] { return !take(port_far()) && take(port_sleeper()); });
    }
}

TEST_P(OfiNeighboursTest, WhoIsFullIsSentNoEagerMessages)
{
    const auto has_said = [&](bool takes_eager) {
        (void)take(port_far());
        (void)take(port_busy());
        return port_busy().takes_eager(far_rank) == takes_eager;
    };
    const auto post = [&](FrameKind kind) {
        return port_busy().post(far_rank, kind, {}, nullptr, 0);
    };
    port_far().announce_full(true);
    await([&] { return has_said(false); });
    EXPECT_EQ(post(FrameKind::eager), base::Status::retry_lane_full);
    EXPECT_EQ(post(FrameKind::distant_request), base::Status::done);
    port_far().announce_full(false);
    await([&] { return has_said(true); });
    EXPECT_EQ(post(FrameKind::eager), base::Status::done);
    await([&] {
        (void)take(port_busy());
        (void)take(port_far());
        return !port_busy().has_unsent();
    });
}

TEST_P(OfiNeighboursTest, WhoHasNotBeenIntroducedIsUnknown)
{
    EXPECT_EQ(port_busy().post(sleeper, FrameKind::eager, {}, nullptr, 0),
              base::Status::retry_unknown);
}

INSTANTIATE_TEST_SUITE_P(Providers, OfiNeighboursTest, ::testing::Values("tcp", "net", "sockets"),
                         &name_of_provider);

}  // namespace
}  // namespace headway::transport
