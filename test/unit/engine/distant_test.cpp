// SPDX-License-Identifier: Apache-2.0
//
// What a rank does for peers of other nodes, over a network that the test moves.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/away.hpp"
#include "engine/wait.hpp"
#include "engine/worker.hpp"
#include "in_process_node.hpp"
#include "platform/cpu.hpp"
#include "protocol/offer.hpp"
#include "transport/network.hpp"

namespace headway::engine {
namespace {

/// Nothing comes over it but what the test brings, and nobody is told of anything, not even that
/// the other rank is connected now.
class MutePort final : public transport::Port {
  public:
    /// The next look finds the request for all of the message that was offered last.
    void bring_request() noexcept { is_wanted_ = true; }
    /// Thread rule: any thread.
    void connect(bool is_connected) noexcept { is_connected_.store(is_connected); }
    int accepted() const noexcept { return accepted_; }
    int polls() const noexcept { return polls_.load(); }
    /// Who prepares to sleep finds that something has come for that rank. Before anybody waits.
    void bring_for(std::uint32_t rank) noexcept { brought_ = rank; }

    base::Status post(std::uint32_t, transport::FrameKind kind, const transport::FrameHeader&,
                      const void* payload, std::size_t) noexcept override
    {
        if (kind == transport::FrameKind::distant_offer) {
            protocol::DistantOffer offer;
            std::memcpy(&offer, payload, sizeof offer);
            request_ = {.send = offer.send, .receive = 1, .bytes = offer.size_bytes};
        }
        is_unconnected_ = !is_connected_.load();
        accepted_ += is_unconnected_ ? 0 : 1;
        return is_unconnected_ ? base::Status::retry_not_connected : base::Status::done;
    }
    bool poll(transport::Frame& frame, std::uint32_t& sender) noexcept override
    {
        ++polls_;
        frame = {.kind = transport::FrameKind::distant_request,
                 .header = {},
                 .payload = reinterpret_cast<const std::byte*>(&request_),
                 .payload_bytes = sizeof request_};
        sender = 1;
        return std::exchange(is_wanted_, false);
    }
    bool poll_next(transport::Frame&, std::uint32_t&) noexcept override { return false; }
    bool settle() noexcept override { return true; }
    void release() noexcept override {}
    bool is_from_stranger() const noexcept override { return false; }
    bool poll_called(std::uint32_t& rank) noexcept override
    {
        if (called_ == nobody) {
            return false;
        }
        rank = std::exchange(called_, nobody);
        return true;
    }
    void* expose(const void*, std::size_t, transport::Exposure*) noexcept override
    {
        return nullptr;
    }
    void conceal(void*) noexcept override {}
    bool prepare_target(void*, std::size_t, void**) noexcept override { return false; }
    void release_target(void*) noexcept override {}
    base::Status read(std::uint32_t, const transport::Exposure&, std::uint64_t, void*, std::size_t,
                      void*, std::uint64_t) noexcept override
    {
        return base::Status::failed;
    }
    std::uint64_t reserve_push(std::uint32_t, std::size_t) noexcept override { return 0; }
    base::Status push(const transport::Pushed&, const void*, std::uint64_t) noexcept override
    {
        return base::Status::failed;
    }
    void leave_pushed(const transport::Pushed&) noexcept override {}
    base::Status take_pushed(const transport::Pushed&, void*, std::size_t,
                             std::uint64_t) noexcept override
    {
        return base::Status::failed;
    }
    bool poll_transfer(std::uint64_t&) noexcept override { return false; }
    bool takes_eager(std::uint32_t) noexcept override { return true; }
    void announce_full(bool) noexcept override {}
    bool has_unsent() const noexcept override { return false; }
    bool has_held() const noexcept override { return false; }
    std::uint64_t bytes_under_way() const noexcept override { return 0; }
    bool has_unconnected() const noexcept override { return is_unconnected_; }
    bool prepare_sleep() noexcept override
    {
        called_ = std::exchange(brought_, nobody);
        return true;
    }
    bool prepare_absence() noexcept override { return true; }

  private:
    static constexpr std::uint32_t nobody = UINT32_MAX;

    protocol::DistantRequest request_{};
    bool is_wanted_ = false;
    std::atomic<bool> is_connected_{true};
    int accepted_ = 0;
    std::atomic<int> polls_{0};  // of two ranks, in some tests
    bool is_unconnected_ = false;
    std::uint32_t brought_ = nobody;
    std::uint32_t called_ = nobody;
};

class MuteNetwork final : public transport::Network {
  public:
    MuteNetwork() : descriptor_(::eventfd(0, EFD_CLOEXEC)) {}
    ~MuteNetwork() override { ::close(descriptor_); }
    MuteNetwork(const MuteNetwork&) = delete;
    MuteNetwork& operator=(const MuteNetwork&) = delete;

    void connect(bool is_connected) noexcept { port_.connect(is_connected); }
    int accepted() const noexcept { return port_.accepted(); }
    int polls() const noexcept { return port_.polls(); }
    /// From now on its descriptor can be read, and who looks finds nothing: parts of long messages
    /// come for somebody who sleeps, or nobody knows what. Thread rule: any thread.
    void call(bool is_of_parts) noexcept
    {
        is_of_parts_.store(is_of_parts);
        is_awaited_.store(true);
        constexpr std::uint64_t once = 1;
        ASSERT_EQ(::write(descriptor_, &once, sizeof once), ssize_t{sizeof once});
    }
    void fall_silent() noexcept { is_awaited_.store(false); }
    int deliveries() const noexcept { return deliveries_.load(); }
    void bring_for(std::uint32_t rank) noexcept { port_.bring_for(rank); }
    void bring_request() noexcept { port_.bring_request(); }

    const std::string& address() const noexcept override { return nothing_; }
    const std::string& socket_address() const noexcept override { return nothing_; }
    const std::string& description() const noexcept override { return nothing_; }
    void join_job(const base::Secret&) noexcept override {}
    base::Outcome introduce(std::uint32_t, std::string_view, std::string_view) override
    {
        return base::Done{};
    }
    bool knows(std::uint32_t) const noexcept override { return true; }
    std::size_t frame_bytes_max() const noexcept override { return 16 * 1024; }
    bool can_read() const noexcept override { return false; }
    transport::Port& port(std::uint32_t) noexcept override { return port_; }
    int descriptor() const noexcept override { return descriptor_; }
    Delivery deliver(std::vector<std::uint32_t>&) noexcept override
    {
        ++deliveries_;
        return {.is_awaited = is_awaited_.load(),
                .is_attended = false,
                .is_of_parts = is_of_parts_.load()};
    }
    bool send_held(std::vector<std::uint32_t>&) noexcept override { return true; }
    void declare_lasting(const void*, std::uint64_t) noexcept override {}
    transport::RegionCounts region_counts() const noexcept override { return {}; }
    const std::string& failure() const noexcept override { return nothing_; }

  private:
    const std::string nothing_;
    MutePort port_;
    int descriptor_;
    std::atomic<bool> is_awaited_{false};
    std::atomic<bool> is_of_parts_{false};
    std::atomic<int> deliveries_{0};
};

/// False: it did not come in 20 s.
template <typename Condition>
bool await(Condition&& condition)
{
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
        platform::yield_core();
    }
    return condition();
}

class DistantTest : public ::testing::Test {
  protected:
    DistantTest() { node.node().watch().set_descriptor(network.descriptor()); }
    ~DistantTest() override { node.node().watch().stop(); }

    MuteNetwork network;  // the node's thread looks at it until it is stopped
    InProcessNode node{1, {}, Distance::together, 1, &network};
    const std::uint32_t number = 7;
};

TEST_F(DistantTest, WhoWaitsTriesAgainThoughTheNetworkIsSilent)
{
    network.connect(false);
    Op* const send = node.start_send(0, 1, 1, &number, sizeof number);
    std::thread sleeper([&] { wait_for(node.driver(0), send); });
    while (!node.driver(0).rank().ownership.is_parked()) {
        platform::yield_core();
    }
    network.connect(true);
    sleeper.join();
    EXPECT_EQ(network.accepted(), 1);
}

TEST_F(DistantTest, WhoLeavesSomethingRefusedIsLookedAfterBeforeTheNetworkCalls)
{
    Driver& driver = node.driver(0);
    ASSERT_TRUE(driver.listen());
    EXPECT_EQ(driver.look_again_ns(), 0);
    network.connect(false);
    Op* const send = node.start_send(0, 1, 1, &number, sizeof number);
    ASSERT_TRUE(driver.listen());
    EXPECT_NE(driver.look_again_ns(), 0);
    network.connect(true);
    driver.progress();
    EXPECT_TRUE(send->word.is_complete());
    ASSERT_TRUE(driver.listen());
    EXPECT_EQ(driver.look_again_ns(), 0);
}

/// What there is room for leaves, though nobody tells of room that was there all the time: a call
/// that has sent its share leaves the rest to others.
TEST_F(DistantTest, WhoLeavesAMessageThatIsWantedIsHelpedWithTheRest)
{
    const std::vector<std::byte> message(1 << 20);
    const int frames = static_cast<int>(message.size() / network.frame_bytes_max());
    Driver& driver = node.driver(0);
    Op* const send = node.start_send(0, 1, 1, message.data(), message.size());
    network.bring_request();
    driver.progress();
    leave_word(driver);
    ASSERT_FALSE(send->word.is_complete());
    ASSERT_LT(network.accepted(), 1 + frames);
    Worker agent(node.node(), nullptr);
    while (agent.help()) {
    }
    EXPECT_EQ(network.accepted(), 1 + frames);
    EXPECT_TRUE(send->word.is_complete());
    take_word(driver);
}

/// A burst of calls looks at the network once in a while, all others do each time.
TEST_F(DistantTest, WhoPassesByDoesNotLookAgainAtOnce)
{
    Driver& driver = node.driver(0);
    constexpr int times = 1000;
    for (int time = 0; time < times; ++time) {
        driver.progress();
        driver.progress_in_passing();
    }
    EXPECT_GE(network.polls(), times);
    EXPECT_LT(network.polls(), 2 * times);
    const int before = network.polls();
    const std::int64_t later_ns = platform::monotonic_ns() + 1'000'000;
    while (platform::monotonic_ns() < later_ns) {
    }
    driver.progress_in_passing();
    EXPECT_EQ(network.polls(), before + 1);
}

/// Two ranks of one process, of which one computes.
TEST(DistantNeighborsTest, PartsOfLongMessagesRingNobody)
{
    MuteNetwork network;
    InProcessNode node(2, {}, Distance::together, 1, &network);
    node.node().watch().set_descriptor(network.descriptor());
    RankState& away = node.driver(1).rank();
    ASSERT_FALSE(away.ownership.leave());
    ASSERT_TRUE(node.driver(0).listen());
    network.call(true);
    EXPECT_TRUE(await([&] { return network.deliveries() > 2; }));
    EXPECT_EQ(away.counters.calls_for_help.load(), 0U);
    network.call(false);
    EXPECT_TRUE(await([&] { return away.counters.calls_for_help.load() != 0; }));
    network.fall_silent();
    node.node().watch().stop();
    EXPECT_TRUE(away.ownership.enter(platform::Deadline::never()));
}

/// Two ranks of one process, of which one computes. Nobody tells a second time of what has come for
/// it, so who has heard of it while going to sleep works for it before.
TEST(DistantNeighborsTest, WhoGoesToSleepSeesToWhomItHasCalled)
{
    MuteNetwork network;
    InProcessNode node(2, {}, Distance::together, 1, &network);
    node.node().watch().set_descriptor(network.descriptor());
    RankState& away = node.driver(1).rank();
    ASSERT_FALSE(away.ownership.leave());
    network.bring_for(1);
    std::atomic<bool> is_over{false};
    std::thread waiting([&] {
        wait_until(node.driver(0), [&] { return is_over.load(); }, {}, 0, WaitReason::events);
    });
    EXPECT_TRUE(await([&] { return away.counters.times_helped.load() != 0; }))
        << "nobody worked for a rank that was called";
    is_over = true;
    node.driver(0).rank().ownership.notify_parked();
    waiting.join();
    node.node().watch().stop();
    EXPECT_TRUE(away.ownership.enter(platform::Deadline::never()));
}

}  // namespace
}  // namespace headway::engine
