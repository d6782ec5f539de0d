// SPDX-License-Identifier: Apache-2.0
// Which messages above eager_limit go whole: those to a receiver of another process that is inside
// MPI, or was until just before.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/door.hpp"
#include "platform/cpu.hpp"
#include "protocol/point_to_point.hpp"
#include "unit/engine/in_process_node.hpp"
#include "unit/engine/numbered.hpp"

namespace headway::protocol {
namespace {

using engine::Distance;
using engine::InProcessNode;
using engine::Op;
using engine::RankState;
using transport::FrameKind;

constexpr std::uint32_t sender = 0;
constexpr std::uint32_t receiver = 1;
constexpr std::uint64_t long_bytes = 40'000;

config::Knobs written(config::CoreCachesChoice caches = config::CoreCachesChoice::automatic)
{
    config::Knobs knobs;
    knobs.core_caches = caches;
    knobs.inside_way = config::InsideWayChoice::lane;
    return knobs;
}

/// A sender, and a receiver that computes.
class WholeMessages : public testing::Test {
  public:
    explicit WholeMessages(Distance distance = Distance::reachable,
                           config::CoreCachesChoice caches = config::CoreCachesChoice::automatic)
        : node(2, written(caches), distance)
    {
        node.give_cores();
        EXPECT_FALSE(state().ownership.leave());
        state().whole_bytes_max.store(65'536, std::memory_order_relaxed);
        left(0);
    }

    RankState& state() { return node.driver(receiver).rank(); }
    /// The receiver left the library at that time.
    void left(std::uint64_t at) { state().left_at.store(at, std::memory_order_relaxed); }
    void waits(std::uint32_t threads)
    {
        state().waiting_threads.store(threads, std::memory_order_relaxed);
    }

    std::uint64_t kept() { return state().counters.unexpected_queue.load(); }

    Op* send(std::uint64_t bytes = long_bytes, bool is_synchronous = false)
    {
        return node.start_send(sender, receiver, 1, sent.data(), bytes, is_synchronous);
    }
    bool goes_whole(std::uint64_t bytes = long_bytes, bool is_synchronous = false)
    {
        return send(bytes, is_synchronous)->frame_kind == FrameKind::eager;
    }

    InProcessNode node;
    std::vector<std::byte> sent = engine::numbered(100'000);
};

TEST_F(WholeMessages, GoToAReceiverThatWaits)
{
    EXPECT_FALSE(goes_whole()) << "it computes";
    waits(1);
    EXPECT_TRUE(goes_whole());
    EXPECT_TRUE(goes_whole(65'536));
    EXPECT_FALSE(goes_whole(65'537)) << "longer than what the receiver has room for";
    EXPECT_FALSE(goes_whole(long_bytes, true)) << "the end of it says that it was received";
    waits(0);
    EXPECT_FALSE(goes_whole());
}

/// The sender's program computed after it had sent one without waiting.
class BesideComputation : public WholeMessages {
  public:
    BesideComputation()
    {
        // A lane that spares no memory.
        EXPECT_TRUE(goes_whole(8));
        node.node().lane_reading = transport::shm::Reading::measured;
        engine::Door door;
        door.open(node.driver(sender));
        engine::SendHabit& habit = node.driver(sender).rank().send_habit;
        // More than once: the first call starts the agent, and any may lose its core, and then it
        // is not known when it ended.
        bool is_known = false;
        for (int i = 0; i < 50 && !is_known; ++i) {
            door.enter();
            EXPECT_FALSE(goes_whole()) << "the receiver computes";
            is_known = habit.is_to_offer();
            door.leave();
            const std::uint64_t begin = platform::ticks();
            while (platform::ticks() - begin < long_bytes) {
            }
        }
        door.enter();
        EXPECT_FALSE(habit.is_watched());
        EXPECT_TRUE(is_known);
    }
};

TEST_F(BesideComputation, AreLeftToTheReceiver)
{
    waits(1);
    EXPECT_FALSE(goes_whole());
    EXPECT_TRUE(goes_whole(16'384)) << "so much a call copies itself";
    EXPECT_TRUE(
        is_about_to_take(node.driver(sender), receiver, long_bytes, engine::Sender::is_kept))
        << "who waits has nothing else to do";
    node.node().is_oversubscribed = true;
    EXPECT_TRUE(goes_whole()) << "it would need this rank's core";
}

TEST_F(BesideComputation, GoTheWayThatWasChosen)
{
    waits(1);
    node.node().lane_reading = transport::shm::Reading::never;
    EXPECT_TRUE(goes_whole());
}

TEST_F(BesideComputation, GoWholeWhereBothRanksSend)
{
    waits(1);
    std::vector<std::byte> got(long_bytes);
    (void)node.start_receive(sender, receiver, 1, got.data(), got.size());
    EXPECT_TRUE(goes_whole()) << "it may compute as well";
}

class LongWholeMessages : public WholeMessages {
  public:
    LongWholeMessages() : WholeMessages(Distance::reachable, config::CoreCachesChoice::shared) {}
};

TEST_F(LongWholeMessages, ComeOnlyFromCallsThatBlock)
{
    sent = engine::numbered(262'144);
    state().whole_bytes_max.store(sent.size(), std::memory_order_relaxed);
    waits(1);
    EXPECT_TRUE(goes_whole(131'072));
    EXPECT_FALSE(goes_whole(131'073)) << "its caller may have other work than to copy";
    EXPECT_TRUE(
        is_about_to_take(node.driver(sender), receiver, sent.size(), engine::Sender::is_kept));
    EXPECT_FALSE(
        is_about_to_take(node.driver(sender), receiver, sent.size() + 1, engine::Sender::is_kept));
}

TEST_F(WholeMessages, GoToAReceiverThatIsBetweenTwoCalls)
{
    bool has_gone = false;
    for (int i = 0; i < 1000 && !has_gone; ++i) {  // this thread may lose its core in between
        left(platform::ticks());
        has_gone = goes_whole();
    }
    EXPECT_TRUE(has_gone);
    EXPECT_EQ(state().counters.calls_for_help.load(), 1U) << "if it computes, somebody takes it";
    left(0);
    EXPECT_FALSE(goes_whole());
    left(UINT64_MAX / 2);
    EXPECT_FALSE(goes_whole()) << "a clock that is ahead says no";
}

TEST_F(WholeMessages, AreWatchedWhereTheirReceiverIsInAnotherProcess)
{
    const engine::SendHabit& habit = node.driver(sender).rank().send_habit;
    (void)node.start_send(sender, sender, 1, sent.data(), long_bytes);
    EXPECT_FALSE(habit.is_watched()) << "nobody copies it beside the rank, and its own lane "
                                        "belongs to whichever thread posts";
    (void)send();
    EXPECT_TRUE(habit.is_watched());
}

TEST_F(WholeMessages, AreOverAtOnceAndArriveWhole)
{
    waits(1);
    std::vector<std::byte> got(long_bytes);
    Op* const receive = node.start_receive(receiver, 0, 1, got.data(), got.size());
    Op* const op = send();
    EXPECT_TRUE(op->word.is_complete()) << "the sender's buffer is free";
    (void)node.driver(receiver).progress();
    EXPECT_TRUE(receive->word.is_complete());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), sent.begin()));
}

TEST_F(WholeMessages, BehindTheLastOneThatHasAReceiveStayInTheirLane)
{
    waits(1);
    std::vector<std::byte> got(long_bytes);
    Op* const first = node.start_receive(receiver, 0, 1, got.data(), got.size());
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(send()->word.is_complete());
    }
    EXPECT_EQ(node.driver(receiver).progress(), 1);
    EXPECT_TRUE(first->word.is_complete());
    EXPECT_EQ(kept(), 0U) << "a copy more each";
    Op* const second = node.start_receive(receiver, 0, 1, got.data(), got.size());
    EXPECT_EQ(node.driver(receiver).progress(), 1);
    EXPECT_TRUE(second->word.is_complete());
    EXPECT_EQ(kept(), 0U);
    EXPECT_EQ(node.driver(receiver).progress(), 1) << "who looks on has no better use for his time";
    EXPECT_EQ(kept(), 1U);
}

// A thread in another instance relies on the word being free, but waits for none of the messages.
TEST_F(WholeMessages, AThreadThatSleepsElsewhereKeepsNoBurstGoing)
{
    EXPECT_TRUE(state().ownership.enter());
    engine::Door door;
    door.open(node.driver(receiver));
    waits(1);
    state().open_ops.add_reliance();
    std::vector<std::byte> got(long_bytes);
    door.enter();
    Op* const first = node.start_receive(receiver, 0, 1, got.data(), got.size());
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(send()->word.is_complete());
    }
    EXPECT_EQ(node.driver(receiver).progress(), 1);
    EXPECT_TRUE(first->word.is_complete());
    EXPECT_EQ(kept(), 0U) << "nothing is open";
    EXPECT_EQ(state().open_ops.count(), 0U);
    door.leave();
    EXPECT_TRUE(state().ownership.is_free()) << "somebody relies on it";
    state().open_ops.remove_reliance();
}

// A burst would keep a receiver in the call that posts the first receive, and be kept there.
TEST_F(WholeMessages, DoNotKeepAReceiverFromLeaving)
{
    EXPECT_TRUE(state().ownership.enter());
    engine::Door door;
    door.open(node.driver(receiver));
    door.enter();
    std::vector<std::byte> got(long_bytes);
    Op* const first = node.start_receive(receiver, 0, 1, got.data(), got.size());
    waits(1);  // as it seems to the sender, who rings
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(send()->word.is_complete());
    }
    EXPECT_TRUE(state().ownership.is_rung());
    door.leave();
    EXPECT_TRUE(first->word.is_complete());
    EXPECT_EQ(kept(), 0U);
    EXPECT_TRUE(state().ownership.is_owned()) << "nothing is open, so nobody is to work for it";
    door.enter();
    Op* const second = node.start_receive(receiver, 0, 1, got.data(), got.size());
    Op* const other = node.start_receive(receiver, 0, 2, got.data(), got.size());
    (void)state().ownership.answer_bell();
    while (!second->word.is_complete()) {
        ASSERT_NE(node.driver(receiver).progress(), 0);
    }
    door.leave();
    EXPECT_FALSE(other->word.is_complete());
    EXPECT_TRUE(state().ownership.is_free()) << "a receive is open";
}

// The bell of an offer is answered by the sweep that ends behind the message before it.
TEST_F(WholeMessages, WhatASweepLeftIsTakenBeforeTheWordIsLeft)
{
    EXPECT_TRUE(state().ownership.enter());
    engine::Door door;
    door.open(node.driver(receiver));
    door.enter();
    std::vector<std::byte> got(sent.size());
    Op* const first = node.start_receive(receiver, 0, 1, got.data(), long_bytes);
    waits(1);  // as it seems to the sender, who rings
    EXPECT_TRUE(send()->word.is_complete());
    Op* const offered = node.start_send(sender, receiver, 2, sent.data(), sent.size(), false);
    door.leave();
    EXPECT_TRUE(first->word.is_complete());
    EXPECT_FALSE(state().ownership.is_rung());
    EXPECT_TRUE(state().has_left_frames);
    door.enter();
    Op* const second = node.start_receive(receiver, 0, 2, got.data(), got.size());
    door.leave();
    EXPECT_TRUE(state().ownership.is_free()) << "a receive is open";
    EXPECT_FALSE(state().has_left_frames);
    EXPECT_EQ(state().counters.posted_queue.load(), 0U) << "the offer has met it";
    EXPECT_FALSE(offered->word.is_complete());
    EXPECT_FALSE(second->word.is_complete()) << "until the sender looks around";
}

// Nor does a flood of short ones keep a call: what two sweeps do not take is for helpers.
TEST(ManyMessages, ThatAreTooManyForTheWayOutAreLeftToOthers)
{
    constexpr std::uint32_t senders = 3;  // each with a lane that is nearly full
    constexpr std::uint64_t messages_each = 60;
    InProcessNode node(senders + 1, {}, Distance::reachable);
    engine::Driver& driver = node.driver(senders);
    RankState& state = driver.rank();
    engine::Door door;
    door.open(driver);
    door.enter();
    std::vector<std::byte> got(1'000'000);
    (void)node.start_receive(senders, 0, 2, got.data(), got.size());
    for (std::uint64_t i = 0; i < senders * messages_each; ++i) {
        const auto from = static_cast<std::uint32_t>(i % senders);
        EXPECT_TRUE(node.start_send(from, senders, 1, got.data(), 8)->word.is_complete());
    }
    const auto a_sweep = static_cast<std::uint64_t>(driver.progress());
    door.leave();
    EXPECT_TRUE(state.ownership.is_free()) << "a receive is open";
    EXPECT_TRUE(state.has_left_frames);
    EXPECT_EQ(state.counters.unexpected_queue.load(), 2 * a_sweep);
    EXPECT_TRUE(node.node().directory.wanted.remove(senders));
}

// A thread of another process that works for the sender has no room for long ones.
TEST_F(WholeMessages, ThatFindNoRoomAreOfferedByWhoeverWorksForTheSender)
{
    waits(1);
    std::vector<Op*> ops;
    do {
        ops.push_back(send(65'536));
    } while (ops.back()->word.is_complete() && ops.size() < 1000);
    ASSERT_FALSE(ops.back()->word.is_complete()) << "the lane is full";
    EXPECT_EQ(ops.back()->frame_kind, FrameKind::eager);
    std::vector<std::byte> got(65'536);
    std::vector<Op*> receives;
    receives.reserve(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
        receives.push_back(node.start_receive(receiver, 0, 1, got.data(), got.size()));
    }
    while (node.driver(receiver).progress() != 0) {
    }
    EXPECT_FALSE(receives.back()->word.is_complete());
    engine::Worker other(node.node(), nullptr);
    engine::RankLock lock;
    engine::Driver helper(other, node.driver(sender).rank(), lock, engine::Driver::Role::helper);
    (void)helper.progress();
    EXPECT_EQ(ops.back()->frame_kind, FrameKind::request_to_send);
    node.settle();
    EXPECT_TRUE(receives.back()->word.is_complete());
    EXPECT_TRUE(ops.back()->word.is_complete());
}

class WholeMessagesOfOneProcess : public WholeMessages {
  public:
    WholeMessagesOfOneProcess() : WholeMessages(Distance::together) {}
};

TEST_F(WholeMessagesOfOneProcess, AreNone)
{
    waits(1);
    EXPECT_FALSE(goes_whole()) << "there one copy does";
}

TEST(WholeMessagesLimit, IsWhatTheKnobSaysAndALaneHasRoomFor)
{
    struct Row {
        std::uint64_t eager_limit;
        std::uint64_t inside;
        std::uint64_t want;
        config::CoreCachesChoice caches = config::CoreCachesChoice::shared;
    };
    for (const Row row : {Row{16'384, 65'536, 65'536}, Row{16'384, 262'144, 262'144},
                          Row{16'384, 0, 16'384}, Row{0, 65'536, 0}, Row{100, 30'000, 30'000},
                          Row{16'384, 262'144, 131'072, config::CoreCachesChoice::separate},
                          Row{16'384, 65'536, 65'536, config::CoreCachesChoice::separate}}) {
        config::Knobs knobs;
        knobs.core_caches = row.caches;
        knobs.eager_limit = row.eager_limit;
        knobs.eager_limit_inside = row.inside;
        InProcessNode node(2, knobs, Distance::reachable);
        EXPECT_EQ(node.node().whole_bytes_max, row.eager_limit) << "until lanes are known";
        node.give_cores();
        EXPECT_EQ(node.node().whole_bytes_max, row.want);
        node.node().is_oversubscribed = true;
        node.node().choose_buffers();
        EXPECT_EQ(node.node().whole_bytes_max, row.eager_limit) << "lanes are short";
    }
}

}  // namespace
}  // namespace headway::protocol
