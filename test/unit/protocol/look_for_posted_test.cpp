// SPDX-License-Identifier: Apache-2.0
// What a rank does that waits for a posted receive: it looks for the message as a receive without
// an op does, and nobody can tell the difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "protocol/match.hpp"
#include "protocol/point_to_point.hpp"
#include "unit/engine/in_process_node.hpp"
#include "unit/engine/numbered.hpp"

namespace headway::protocol {
namespace {

using engine::InProcessNode;
using engine::Op;
using engine::OpError;

constexpr std::uint32_t sender = 0;
constexpr std::uint32_t receiver = 1;
constexpr std::uint32_t stranger = 2;

class LookForPosted : public testing::Test {
  public:
    LookForPosted() : node(3, {}, engine::Distance::reachable) { node.give_cores(); }

    /// Of a receive that names its sender, unless it is any_source.
    Op* receive(std::int32_t source, std::int32_t tag, std::vector<std::byte>& room)
    {
        Op* const op = node.start_receive(receiver, source, tag, room.data(), room.size());
        op->peer = source == any_source ? engine::any_peer : static_cast<std::uint32_t>(source);
        return op;
    }
    void send(std::uint32_t from, std::int32_t tag, std::uint64_t bytes)
    {
        (void)node.start_send(from, receiver, tag, sent.data(), bytes);
    }
    /// Of the message with that number, as partitioned ones are named.
    Op* receive_later(std::uint32_t number, std::vector<std::byte>& room)
    {
        Op* const op = numbered(receiver, engine::OpKind::receive, number);
        op->peer = sender;
        op->address = room.data();
        op->size_bytes = room.size();
        start_receive_later(node.driver(receiver), op);
        return op;
    }
    void send_numbered(std::uint32_t number, std::uint64_t bytes)
    {
        Op* const op = numbered(sender, engine::OpKind::send, number);
        op->peer = receiver;
        op->address = const_cast<std::byte*>(sent.data());
        op->size_bytes = bytes;
        start_send(node.driver(sender), op, false);
    }
    Op* numbered(std::uint32_t rank, engine::OpKind kind, std::uint32_t number)
    {
        Op* const op = node.driver(rank).create_op(kind);
        op->header = {.context = 1,
                      .source = static_cast<std::int32_t>(sender),
                      .tag = 5,
                      .sequence = number};
        return op;
    }
    std::uint64_t posted_so_far()
    {
        return node.driver(receiver).rank().counters.posted_queue_max.load();
    }
    std::uint64_t kept_so_far()
    {
        return node.driver(receiver).rank().counters.unexpected_queue_max.load();
    }
    void look(Op* op) { look_for_posted(node.driver(receiver), op); }
    std::uint64_t posted() { return node.driver(receiver).rank().counters.posted_queue.load(); }
    std::uint32_t open() { return node.driver(receiver).rank().open_ops.count(); }
    bool holds(const std::vector<std::byte>& room, std::size_t bytes)
    {
        return std::equal(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(bytes),
                          sent.begin());
    }

    InProcessNode node;
    const std::vector<std::byte> sent = engine::numbered(1'000'000);
    std::vector<std::byte> target = std::vector<std::byte>(100'000);
    std::vector<std::byte> other = std::vector<std::byte>(100'000);
};

TEST_F(LookForPosted, TakesWhatIsThere)
{
    Op* const op = receive(sender, 5, target);
    send(sender, 5, 2000);
    look(op);
    ASSERT_TRUE(op->word.is_complete());
    EXPECT_EQ(op->error, OpError::none);
    EXPECT_EQ(op->status_source, static_cast<std::int32_t>(sender));
    EXPECT_EQ(op->status_tag, 5);
    EXPECT_EQ(op->status_bytes, 2000U);
    EXPECT_TRUE(holds(target, 2000));
    EXPECT_EQ(posted(), 0U);
    EXPECT_EQ(open(), 0U);
}

TEST_F(LookForPosted, IsPostedAsBeforeWhereNothingComes)
{
    Op* const op = receive(sender, 5, target);
    EXPECT_EQ(open(), 1U) << "longer than the eager limit";
    look(op);
    EXPECT_FALSE(op->word.is_complete());
    EXPECT_EQ(posted(), 1U);
    EXPECT_EQ(open(), 1U) << "counted once";
    send(stranger, 5, 10);
    send(sender, 6, 10);
    look(op);
    EXPECT_FALSE(op->word.is_complete()) << "of another sender, or with another tag";
    send(sender, 5, 3000);
    node.settle();
    ASSERT_TRUE(op->word.is_complete());
    EXPECT_EQ(op->status_bytes, 3000U);
    EXPECT_EQ(open(), 0U);
}

TEST_F(LookForPosted, EarlierReceivesOfTheSameMessageComeFirst)
{
    Op* const first = receive(sender, 5, target);
    Op* const second = receive(sender, 5, other);
    send(sender, 5, 1000);
    send(sender, 5, 2000);
    look(second);
    look(first);
    node.settle();
    ASSERT_TRUE(first->word.is_complete());
    ASSERT_TRUE(second->word.is_complete());
    EXPECT_EQ(first->status_bytes, 1000U);
    EXPECT_EQ(second->status_bytes, 2000U);
}

TEST_F(LookForPosted, AWildcardPostedEarlierComesFirst)
{
    Op* const wild = receive(any_source, 5, target);
    Op* const named = receive(sender, 5, other);
    send(sender, 5, 1000);
    look(named);
    look(wild);
    node.settle();
    EXPECT_TRUE(wild->word.is_complete());
    EXPECT_FALSE(named->word.is_complete());
    EXPECT_TRUE(cancel_receive(node.driver(receiver), named));
}

TEST_F(LookForPosted, MessagesOfOtherReceivesGoWhereTheyBelong)
{
    Op* const awaited = receive(sender, 5, target);
    Op* const beside = receive(stranger, 7, other);
    send(stranger, 7, 500);
    send(sender, 5, 800);
    look(awaited);
    EXPECT_TRUE(awaited->word.is_complete());
    node.settle();
    EXPECT_TRUE(beside->word.is_complete());
    EXPECT_TRUE(holds(other, 500));
}

TEST_F(LookForPosted, OfferedAndTruncatedMessagesArriveTheGeneralWay)
{
    std::vector<std::byte> large(sent.size());
    Op* const offered = receive(sender, 5, large);
    send(sender, 5, sent.size());
    look(offered);
    node.settle();
    ASSERT_TRUE(offered->word.is_complete());
    EXPECT_EQ(large, sent);

    std::vector<std::byte> small(100);
    Op* const truncated = receive(sender, 6, small);
    send(sender, 6, 2000);
    look(truncated);
    node.settle();
    ASSERT_TRUE(truncated->word.is_complete());
    EXPECT_EQ(truncated->error, OpError::truncated);
    EXPECT_TRUE(holds(small, 100));
    EXPECT_EQ(open(), 0U);
}

TEST_F(LookForPosted, MessagesAreWholeWhileTheirSenderWrites)
{
    constexpr int messages = 300;
    const auto length = [](std::mt19937& random) { return 1 + random() % 32'000; };
    node.driver(receiver).rank().waiting_threads.store(1);
    std::thread writer([&] {
        std::mt19937 random(1);
        for (int i = 0; i < messages; ++i) {
            Op* const op = node.start_send(sender, receiver, 5, sent.data(), length(random));
            while (!op->word.is_complete()) {
                node.sweep(sender);
            }
            node.driver(sender).destroy_op(op);
        }
    });
    std::mt19937 random(1);
    for (int i = 0; i < messages; ++i) {
        const std::uint64_t bytes = length(random);
        std::fill(target.begin(), target.end(), std::byte{0});
        Op* const op = receive(sender, 5, target);
        while (!op->word.is_complete()) {
            look(op);
            node.sweep(receiver);
        }
        ASSERT_EQ(op->status_bytes, bytes);
        ASSERT_TRUE(holds(target, bytes));
        ASSERT_EQ(target[bytes], std::byte{0}) << "nothing behind the message changes";
        node.driver(receiver).destroy_op(op);
    }
    writer.join();
    EXPECT_EQ(open(), 0U);
}

TEST_F(LookForPosted, AReceiveForLaterIsNeverPostedWhereItIsAwaited)
{
    Op* const other_one = receive_later(8, other);
    Op* const op = receive_later(7, target);
    send_numbered(7, 2000);
    look(op);
    ASSERT_TRUE(op->word.is_complete());
    EXPECT_EQ(op->status_bytes, 2000U);
    EXPECT_TRUE(holds(target, 2000));
    EXPECT_EQ(posted_so_far(), 0U);
    send_numbered(8, 100);
    look(other_one);
    EXPECT_TRUE(other_one->word.is_complete());
    EXPECT_EQ(posted_so_far(), 0U);
}

TEST_F(LookForPosted, AReceiveForLaterIsPostedWhereItsMessageDoesNotCome)
{
    Op* const op = receive_later(7, target);
    send_numbered(6, 100);
    look(op);
    EXPECT_FALSE(op->word.is_complete());
    EXPECT_EQ(posted(), 1U);
    send_numbered(7, 100);
    node.settle();
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_EQ(posted(), 0U);
}

TEST_F(LookForPosted, TheNextSweepPostsAReceiveForLater)
{
    Op* const op = receive_later(7, target);
    EXPECT_EQ(posted(), 0U);
    node.sweep(receiver);
    EXPECT_EQ(posted(), 1U);
    send_numbered(7, 100);
    node.sweep(receiver);
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_EQ(kept_so_far(), 0U);
}

TEST_F(LookForPosted, AMessageOfAReceiveForLaterIsNotKept)
{
    Op* const op = receive_later(7, target);
    Op* const other_one = receive_later(8, other);
    send_numbered(8, 100);
    send_numbered(7, 200);
    node.sweep(receiver);
    ASSERT_TRUE(op->word.is_complete());
    ASSERT_TRUE(other_one->word.is_complete());
    EXPECT_EQ(op->status_bytes, 200U);
    EXPECT_EQ(other_one->status_bytes, 100U);
    EXPECT_EQ(kept_so_far(), 0U);
}

TEST_F(LookForPosted, AReceiveForLaterFindsAMessageThatWasKeptBefore)
{
    send_numbered(7, 200);
    send_numbered(8, 100);
    node.sweep(receiver);
    EXPECT_EQ(kept_so_far(), 2U);
    Op* const awaited = receive_later(7, target);
    look(awaited);
    EXPECT_TRUE(awaited->word.is_complete());
    Op* const swept = receive_later(8, other);
    node.sweep(receiver);
    EXPECT_TRUE(swept->word.is_complete());
    EXPECT_EQ(posted_so_far(), 0U);
}

TEST_F(LookForPosted, ATruncatedMessageOfAReceiveForLaterIsAnError)
{
    std::vector<std::byte> small(100);
    Op* const op = receive_later(7, small);
    send_numbered(7, 200);
    look(op);
    node.settle();
    ASSERT_TRUE(op->word.is_complete());
    EXPECT_EQ(op->error, OpError::truncated);
}

}  // namespace
}  // namespace headway::protocol
