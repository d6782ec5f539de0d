// SPDX-License-Identifier: Apache-2.0
// Messages that are left for their receiver to read: to whom, and what becomes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/post.hpp"
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
constexpr std::int32_t tag = 1;

config::Knobs knobs_with(config::InsideWayChoice way)
{
    config::Knobs knobs;
    knobs.inside_way = way;
    return knobs;
}

/// A sender, and a receiver that waits.
class ReadMessages : public testing::Test {
  public:
    explicit ReadMessages(config::InsideWayChoice way = config::InsideWayChoice::read,
                          Distance distance = Distance::reachable)
        : node(2, knobs_with(way), distance)
    {
        node.give_cores();
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            node.driver(rank).rank().whole_bytes_max.store(65'536);
        }
        state().waiting_threads.store(1);
        // The lane is made with the first message.
        std::uint64_t number = 1;
        EXPECT_TRUE(
            node.start_send(sender, receiver, 9, &number, sizeof number)->word.is_complete());
        Op* const first = node.start_receive(receiver, sender, 9, &number, sizeof number);
        (void)node.driver(receiver).progress();
        EXPECT_TRUE(first->word.is_complete());
    }

    RankState& state() { return node.driver(receiver).rank(); }
    Op* send(std::uint64_t bytes = long_bytes)
    {
        // No trial of what the program does after such sends.
        node.driver(sender).rank().send_habit = engine::SendHabit();
        return node.start_send(sender, receiver, tag, sent.data(), bytes);
    }
    Op* receive(std::uint64_t bytes = long_bytes)
    {
        return node.start_receive(receiver, sender, tag, got.data(), bytes);
    }
    engine::QuickReceive without_op(std::uint64_t bytes)
    {
        return {.wanted = {.context = 0, .source = sender, .tag = tag},
                .address = got.data(),
                .size_bytes = bytes};
    }
    /// A sweep of a receiver that waits, or of one that is on its way.
    void sweep(bool waits)
    {
        if (waits) {
            const engine::WaitMark mark(node.driver(receiver));
            (void)node.driver(receiver).progress();
        } else {
            (void)node.driver(receiver).progress();
        }
    }
    bool has_come(std::uint64_t bytes = long_bytes) const
    {
        return std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(bytes),
                          sent.begin());
    }
    std::uint64_t kept() { return state().counters.unexpected_queue.load(); }
    std::uint64_t held() { return state().counters.unexpected_bytes.load(); }
    std::uint64_t read_across() { return state().counters.bytes_copied_across.load(); }
    std::uint32_t told()
    {
        const transport::shm::Lane* const lane = node.driver(receiver).lane_from(sender);
        return transport::shm::ReadingTold::of_word(lane->reading_told[0].load()).number;
    }

    InProcessNode node;
    std::vector<std::byte> sent = engine::numbered(100'000);
    std::vector<std::byte> got = std::vector<std::byte>(100'000);
};

TEST_F(ReadMessages, AreReadInOnePieceWhereTheirReceiveIsPosted)
{
    Op* const posted = receive();
    Op* const op = send();
    EXPECT_FALSE(op->word.is_complete());
    EXPECT_EQ(op->copy_job, nullptr) << "nobody else has to know of it";
    sweep(false);
    EXPECT_TRUE(posted->word.is_complete());
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(has_come());
    EXPECT_EQ(posted->status_bytes, long_bytes);
    EXPECT_EQ(read_across(), long_bytes);
    EXPECT_EQ(told(), 1U);
    receive();
    send();
    sweep(true);
    EXPECT_EQ(told(), 2U);
}

TEST_F(ReadMessages, AReceiveWithoutAnOpReadsThem)
{
    Op* const op = send();
    engine::QuickReceive quick = without_op(long_bytes);
    EXPECT_TRUE(receive_at_once(node.driver(receiver), quick, sender));
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(has_come());
    EXPECT_EQ(quick.status_bytes, long_bytes);
    EXPECT_EQ(quick.matched.tag, tag);
    EXPECT_EQ(state().is_looking.load(), 0U);
    EXPECT_EQ(told(), 1U);
}

TEST_F(ReadMessages, WhoLooksForALongOneSaysSo)
{
    for (const std::uint64_t bytes : {8UL, long_bytes}) {
        state().left_at.store(0);
        engine::QuickReceive quick = without_op(bytes);
        EXPECT_FALSE(receive_at_once(node.driver(receiver), quick, sender)) << "none comes";
        EXPECT_EQ(state().left_at.load() != 0, bytes == long_bytes);
        EXPECT_EQ(state().is_looking.load(), 0U);
    }
}

TEST_F(ReadMessages, WhoWaitsTakesInWhatHasNoReceiveYet)
{
    Op* const op = send();
    sweep(true);
    EXPECT_TRUE(op->word.is_complete()) << "two ranks that send first do not wait for each other";
    EXPECT_EQ(kept(), 1U);
    EXPECT_GE(held(), long_bytes);
    Op* const late = receive();
    EXPECT_TRUE(late->word.is_complete());
    EXPECT_TRUE(has_come());
    EXPECT_EQ(kept(), 0U);
    EXPECT_EQ(held(), 0U);
}

TEST_F(ReadMessages, WhoDoesNotWaitLeavesThemUntilTheirReceiveComes)
{
    Op* const op = send();
    sweep(false);
    EXPECT_FALSE(op->word.is_complete());
    EXPECT_EQ(kept(), 1U);
    EXPECT_EQ(held(), 0U) << "they need no room";
    engine::QuickReceive other = without_op(long_bytes - 1);
    EXPECT_FALSE(receive_at_once(node.driver(receiver), other, sender)) << "too short";
    EXPECT_EQ(kept(), 1U);
    engine::QuickReceive quick = without_op(long_bytes);
    EXPECT_TRUE(receive_at_once(node.driver(receiver), quick, sender));
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(has_come());
    EXPECT_EQ(kept(), 0U);
}

TEST_F(ReadMessages, WhoWaitsTakesInNoneWhoseEndSaysThatItHasMatched)
{
    Op* const op = node.start_send(sender, receiver, tag, sent.data(), long_bytes, true);
    sweep(true);
    EXPECT_FALSE(op->word.is_complete());
    Op* const late = receive();
    node.settle();
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(late->word.is_complete());
    EXPECT_TRUE(has_come());
}

TEST_F(ReadMessages, WhoHoldsTooMuchTakesNothingIn)
{
    state().is_full.store(1);
    Op* const op = send();
    sweep(true);
    EXPECT_FALSE(op->word.is_complete());
    EXPECT_EQ(held(), 0U);
    EXPECT_TRUE(receive()->word.is_complete());
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(has_come());
}

TEST_F(ReadMessages, OrderHolds)
{
    const std::vector<std::byte> other(long_bytes, std::byte{7});
    Op* const first = send();
    Op* const second = node.start_send(sender, receiver, tag, other.data(), long_bytes);
    sweep(true);
    EXPECT_TRUE(receive()->word.is_complete());
    EXPECT_TRUE(has_come());
    EXPECT_TRUE(receive()->word.is_complete());
    EXPECT_EQ(got[0], std::byte{7});
    EXPECT_TRUE(first->word.is_complete());
    EXPECT_TRUE(second->word.is_complete());
}

TEST_F(ReadMessages, WhatIsTooLongForItsReceiveIsTruncated)
{
    Op* const posted = receive(1000);
    Op* const op = send();
    got[1000] = std::byte{9};
    sweep(true);
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(posted->word.is_complete());
    EXPECT_EQ(posted->error, engine::OpError::truncated);
    EXPECT_TRUE(has_come(1000));
    EXPECT_EQ(got[1000], std::byte{9});
}

TEST_F(ReadMessages, AHelperSharesTheMessageInstead)
{
    Op* const posted = receive();
    Op* const op = send();
    engine::Worker worker(node.node(), nullptr);
    engine::RankLock lock;
    engine::Driver helper(worker, state(), lock, engine::Driver::Role::helper);
    (void)helper.progress();
    EXPECT_FALSE(posted->word.is_complete()) << "a helper copies in slices, and lets its owner in";
    node.settle();
    EXPECT_TRUE(posted->word.is_complete());
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(has_come());
    EXPECT_EQ(told(), 0U);
}

TEST_F(ReadMessages, KeepTheirSenderOnlyForReceiversThatWait)
{
    const auto goes_whole = [&](engine::Sender kept_or_not) {
        return protocol::goes_whole(node.driver(sender), receiver, long_bytes, kept_or_not);
    };
    EXPECT_FALSE(goes_whole(engine::Sender::is_kept));
    EXPECT_EQ(send(32 * 1024 - 1)->frame_kind, FrameKind::eager) << "it is not worth it";
    state().waiting_threads.store(0);
    state().left_at.store(0);
    EXPECT_TRUE(goes_whole(engine::Sender::is_kept)) << "it would be kept";
    EXPECT_FALSE(goes_whole(engine::Sender::goes_on)) << "its receiver has its word";
    state().is_looking.store(1);
    EXPECT_FALSE(goes_whole(engine::Sender::is_kept));
    state().is_looking.store(0);
    node.start_receive(sender, receiver, tag, got.data(), long_bytes);
    EXPECT_FALSE(goes_whole(engine::Sender::is_kept)) << "it is to wait in any case";
    state().threads.are_several.store(1);
    EXPECT_TRUE(goes_whole(engine::Sender::goes_on)) << "other threads would wait";
}

TEST_F(ReadMessages, AreLeftToWhoComputesIfTheirSenderGoesOn)
{
    state().waiting_threads.store(0);
    state().left_at.store(0);
    while (state().ownership.leave()) {
    }
    Op* const posted = receive();
    Op* const op = send();
    EXPECT_EQ(op->copy_job, nullptr);
    engine::Worker worker(node.node(), nullptr);
    engine::RankLock lock;
    engine::Driver helper(worker, state(), lock, engine::Driver::Role::helper);
    (void)helper.progress();
    EXPECT_FALSE(state().copies.is_empty()) << "which shares it";
    node.settle();
    EXPECT_TRUE(posted->word.is_complete());
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(has_come());
}

class WrittenMessages : public ReadMessages {
  public:
    WrittenMessages() : ReadMessages(config::InsideWayChoice::lane) {}
};
TEST_F(WrittenMessages, GoThroughTheLane)
{
    for (int i = 0; i < 200; ++i) {
        Op* const posted = receive();
        Op* const op = send();
        ASSERT_EQ(op->frame_kind, FrameKind::eager);
        sweep(false);
        ASSERT_TRUE(posted->word.is_complete());
    }
}

class MeasuredMessages : public ReadMessages {
  public:
    MeasuredMessages() : ReadMessages(config::InsideWayChoice::automatic) {}

    /// With shorter messages, until none is left to be read for the sake of memory.
    void use_ring()
    {
        const transport::shm::Lane* const lane = node.driver(sender).slot(receiver).lane;
        while (lane->spares_memory(long_bytes)) {
            constexpr std::uint64_t short_bytes = 32 * 1024 - 1;
            Op* const posted = receive(short_bytes);
            ASSERT_EQ(send(short_bytes)->frame_kind, FrameKind::eager);
            sweep(false);
            ASSERT_TRUE(posted->word.is_complete());
        }
    }
    /// Of many messages, one after the other, how many are left to be read.
    int count_reads(int messages = 200)
    {
        int reads = 0;
        for (int i = 0; i < messages; ++i) {
            Op* const posted = receive();
            reads += send()->frame_kind == FrameKind::eager ? 0 : 1;
            sweep(false);
            EXPECT_TRUE(posted->word.is_complete());
            EXPECT_TRUE(has_come());
        }
        return reads;
    }
};
TEST_F(MeasuredMessages, AreReadNowAndThen)
{
    use_ring();
    EXPECT_GT(count_reads(), 0);
}
TEST_F(MeasuredMessages, TheFirstOnesAreReadAsTheirPlacesWereNeverUsed)
{
    EXPECT_EQ(count_reads(64), 64);
    EXPECT_EQ(count_reads(1), 0) << "a pair that goes on gets its memory";
}
TEST_F(MeasuredMessages, TheFirstOnesOfAnExchange)
{
    node.start_receive(sender, receiver, tag + 1, got.data(), long_bytes);
    node.node().asks_other_cores = false;
    EXPECT_EQ(count_reads(64), 64);
    EXPECT_EQ(count_reads(), 0);
}
TEST_F(MeasuredMessages, TheFirstOnesKeepTheirSenderOnlyForReceiversThatWait)
{
    const auto goes_whole = [&] {
        return protocol::goes_whole(node.driver(sender), receiver, long_bytes,
                                    engine::Sender::is_kept);
    };
    EXPECT_FALSE(goes_whole());
    state().waiting_threads.store(0);
    state().left_at.store(0);
    EXPECT_TRUE(goes_whole());
}
TEST_F(MeasuredMessages, OfAnExchangeAreReadWhereCoresAskEachOther)
{
    use_ring();
    node.start_receive(sender, receiver, tag + 1, got.data(), long_bytes);
    node.node().asks_other_cores = false;
    EXPECT_EQ(count_reads(), 0);
    node.node().asks_other_cores = true;
    EXPECT_GT(count_reads(), 0);
}

class MessagesOfOneProcess : public ReadMessages {
  public:
    MessagesOfOneProcess() : ReadMessages(config::InsideWayChoice::automatic, Distance::together) {}
};
TEST_F(MessagesOfOneProcess, AreNotLeftToBeRead)
{
    EXPECT_FALSE(
        node.driver(sender).leaves_for_reading(receiver, long_bytes, engine::Sender::goes_on))
        << "its collectives would leave the stack for nothing";
}

class UnreachableMessages : public ReadMessages {
  public:
    UnreachableMessages() : ReadMessages(config::InsideWayChoice::read, Distance::apart) {}
};
TEST_F(UnreachableMessages, GoThroughTheLane)
{
    EXPECT_EQ(send()->frame_kind, FrameKind::eager);
}

}  // namespace
}  // namespace headway::protocol
