// SPDX-License-Identifier: Apache-2.0
// Which messages above eager_limit go whole: those to a receiver that is inside MPI, from a sender
// that waits too or sends many at once.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/wait.hpp"
#include "protocol/point_to_point.hpp"
#include "unit/engine/in_process_node.hpp"
#include "unit/engine/numbered.hpp"

namespace headway::protocol {
namespace {

using engine::Distance;
using engine::InProcessNode;
using engine::Op;
using engine::OpKind;
using transport::FrameKind;

constexpr std::uint32_t sender = 0;
constexpr std::uint32_t receiver = 1;
constexpr std::uint64_t long_bytes = 40'000;

config::Knobs with_limit(std::uint64_t eager_limit, std::uint64_t inside)
{
    config::Knobs knobs;
    knobs.eager_limit = eager_limit;
    knobs.eager_limit_inside = inside;
    return knobs;
}

class WholeMessages : public testing::Test {
  public:
    explicit WholeMessages(config::Knobs knobs = {}, Distance distance = Distance::reachable)
        : node(3, knobs, distance)
    {
        node.node().is_oversubscribed = false;
        node.node().choose_buffers();
        // The ranks of an InProcessNode own their words until they leave them.
        for (const std::uint32_t rank : {receiver, third}) {
            EXPECT_FALSE(node.driver(rank).rank().ownership.leave());
        }
    }

    /// Starts a send; whether it goes whole.
    bool goes_whole(SendKind kind, std::uint64_t bytes = long_bytes, std::uint32_t to = receiver)
    {
        Op* const op = node.driver(sender).create_op(OpKind::send);
        op->header = {.context = 0, .source = 0, .tag = static_cast<std::int32_t>(sent_++)};
        op->peer = to;
        op->address = bytes_.data();
        op->size_bytes = bytes;
        start_send(node.driver(sender), op, kind);
        return op->frame_kind == FrameKind::eager;
    }

    void enter_wait() { waiting_.emplace(node.driver(receiver).rank()); }
    void leave_wait() { waiting_.reset(); }

    static constexpr std::uint32_t third = 2;
    InProcessNode node;

  private:
    std::vector<std::byte> bytes_ = engine::numbered(100'000);
    std::optional<engine::Waiting> waiting_;
    std::uint32_t sent_ = 0;
};

TEST_F(WholeMessages, AreThoseOfASenderThatWaitsToAReceiverThatWaits)
{
    EXPECT_FALSE(goes_whole(SendKind::awaited)) << "the receiver computes";
    enter_wait();
    EXPECT_TRUE(goes_whole(SendKind::awaited));
    EXPECT_FALSE(goes_whole(SendKind::synchronous)) << "its end says that it was received";
    EXPECT_FALSE(goes_whole(SendKind::awaited, 65'537)) << "longer than the limit";
    leave_wait();
    EXPECT_FALSE(goes_whole(SendKind::awaited));
}

TEST_F(WholeMessages, AreThoseBehindSeveralThatNobodyHasTaken)
{
    enter_wait();
    EXPECT_FALSE(goes_whole(SendKind::started)) << "the sender may compute now";
    EXPECT_FALSE(goes_whole(SendKind::started, long_bytes, third)) << "another receiver";
    EXPECT_FALSE(goes_whole(SendKind::started));
    EXPECT_TRUE(goes_whole(SendKind::started)) << "two are pending";
    node.settle();
    EXPECT_TRUE(goes_whole(SendKind::started)) << "the burst goes on, whoever has taken them";
    node.driver(sender).advance();
    EXPECT_FALSE(goes_whole(SendKind::started)) << "the sender has tested: a new one begins";
}

TEST_F(WholeMessages, DoNotGoToAReceiverThatIsAwayForLong)
{
    auto& left_at = node.driver(receiver).rank().left_at;
    left_at.store(0, std::memory_order_relaxed);
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(goes_whole(SendKind::started));
    }
    left_at.store(UINT64_MAX / 2, std::memory_order_relaxed);
    EXPECT_FALSE(goes_whole(SendKind::started)) << "a clock that is ahead says no";
}

TEST_F(WholeMessages, WhatIsPendingWhenABurstBeginsIsStaged)
{
    enter_wait();
    std::array<Op*, 2> receives{};
    std::vector<std::byte> got(2 * long_bytes);
    for (int i = 0; i < 2; ++i) {
        receives.at(static_cast<std::size_t>(i)) = node.start_receive(
            receiver, 0, i, got.data() + static_cast<std::size_t>(i) * long_bytes, long_bytes);
        EXPECT_FALSE(goes_whole(SendKind::started));
    }
    EXPECT_TRUE(goes_whole(SendKind::started));
    // Only the receiver moves now: all pieces are there.
    while (node.driver(receiver).progress() != 0) {
    }
    (void)engine::copy_next(node.driver(receiver), engine::CopyShare::own);
    for (const Op* receive : receives) {
        EXPECT_TRUE(receive->word.is_complete());
    }
    EXPECT_EQ(got[long_bytes + 999], engine::numbered(1000)[999]);
}

class WholeMessagesOfOneProcess : public WholeMessages {
  public:
    WholeMessagesOfOneProcess() : WholeMessages({}, Distance::together) {}
};

TEST_F(WholeMessagesOfOneProcess, AreNone)
{
    enter_wait();
    EXPECT_FALSE(goes_whole(SendKind::awaited)) << "there one copy does";
}

class WholeMessagesLimited : public testing::Test {};

TEST_F(WholeMessagesLimited, ByTheirKnobAndWhatHasRoom)
{
    struct Row {
        std::uint64_t eager_limit;
        std::uint64_t inside;
        std::uint64_t want;
    };
    for (const Row row : {Row{16'384, 65'536, 65'536}, Row{16'384, 0, 16'384}, Row{0, 65'536, 0},
                          Row{100, 30'000, 30'000}}) {
        InProcessNode node(2, with_limit(row.eager_limit, row.inside), Distance::reachable);
        node.node().is_oversubscribed = false;
        node.node().choose_buffers();
        EXPECT_EQ(node.node().eager_limit_inside, row.want) << row.eager_limit;
        node.node().is_oversubscribed = true;
        node.node().choose_buffers();
        EXPECT_LE(node.node().eager_limit_inside, std::max<std::uint64_t>(row.eager_limit, 8192))
            << "short rings";
    }
}

}  // namespace
}  // namespace headway::protocol
