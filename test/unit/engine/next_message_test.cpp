// SPDX-License-Identifier: Apache-2.0
//
// The next message of a sender, taken in line (protocol::take_next): what it takes, and what it
// leaves as it is for the general way.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "engine/post.hpp"
#include "protocol/point_to_point.hpp"
#include "protocol/quick_receive.hpp"
#include "unit/engine/in_process_node.hpp"

namespace headway::engine {
namespace {

class NextMessageTest : public testing::Test {
  protected:
    static constexpr std::uint32_t receiver = 1;

    /// `value` fills the message.
    bool send(std::uint32_t from, std::int32_t tag, std::uint8_t value, std::size_t bytes = 8,
              std::uint32_t context = 0)
    {
        const std::vector<std::uint8_t> message(bytes, value);
        const transport::FrameHeader header{
            .context = context, .source = static_cast<std::int32_t>(from), .tag = tag};
        return node.driver(from).try_post_eager(receiver, header, message.data(), bytes);
    }

    QuickReceive wanted(std::uint32_t sender, std::int32_t tag, std::size_t room = 4096)
    {
        got.assign(room, 0);
        return {.wanted = {.context = 0, .source = static_cast<std::int32_t>(sender), .tag = tag},
                .address = reinterpret_cast<std::byte*>(got.data()),
                .size_bytes = room};
    }

    bool take(std::uint32_t sender, std::int32_t tag, std::size_t room = 4096)
    {
        receive = wanted(sender, tag, room);
        return protocol::take_next(node.driver(receiver), receive, sender);
    }

    bool look(std::uint32_t sender, std::int32_t tag)
    {
        receive = wanted(sender, tag);
        return protocol::receive_at_once(node.driver(receiver), receive, sender);
    }

    void expect_message(std::uint32_t sender, std::int32_t tag, std::uint8_t value,
                        std::size_t bytes = 8)
    {
        EXPECT_EQ(receive.matched.source, static_cast<std::int32_t>(sender));
        EXPECT_EQ(receive.matched.tag, tag);
        EXPECT_EQ(receive.status_bytes, bytes);
        for (std::size_t at = 0; at < got.size(); ++at) {
            ASSERT_EQ(got[at], at < bytes ? value : 0) << "byte " << at;
        }
    }

    InProcessNode node{3};
    std::vector<std::uint8_t> got;
    QuickReceive receive;
};

TEST_F(NextMessageTest, TakesMessagesOfAllLengthsInTheirOrderAndKeepsNothing)
{
    EXPECT_FALSE(take(0, 5)) << "nobody has sent";
    for (const std::size_t bytes :
         std::initializer_list<std::size_t>{0, 1, 8, 12, 13, 40, 41, 1000, 4096}) {
        ASSERT_TRUE(send(0, 5, 1, bytes));
        ASSERT_TRUE(send(0, 5, 2, bytes));
        ASSERT_TRUE(take(0, 5));
        expect_message(0, 5, 1, bytes);
        ASSERT_TRUE(take(0, 5));
        expect_message(0, 5, 2, bytes);
        EXPECT_FALSE(take(0, 5));
    }
    EXPECT_EQ(node.driver(receiver).rank().counters.unexpected_bytes.load(), 0U);
    EXPECT_EQ(node.driver(receiver).rank().counters.frames_received.load(), 18U);
}

TEST_F(NextMessageTest, TakesMessagesOfTheRankToItself)
{
    EXPECT_FALSE(take(receiver, 5));
    ASSERT_TRUE(send(receiver, 5, 1));
    ASSERT_TRUE(send(receiver, 6, 2));
    EXPECT_FALSE(take(receiver, 6)) << "it is not the next one";
    ASSERT_TRUE(take(receiver, 5));
    expect_message(receiver, 5, 1);
    ASSERT_TRUE(take(receiver, protocol::any_tag));
    expect_message(receiver, 6, 2);
}

TEST_F(NextMessageTest, LeavesAMessageThatIsNotTheNextOneOfItsSender)
{
    ASSERT_TRUE(send(0, 6, 1));
    ASSERT_TRUE(send(0, 5, 2));
    EXPECT_FALSE(take(0, 5));
    ASSERT_TRUE(take(0, protocol::any_tag));
    expect_message(0, 6, 1);
    ASSERT_TRUE(take(0, 5));
    expect_message(0, 5, 2);
}

TEST_F(NextMessageTest, LeavesMessagesOfOtherSendersAndContexts)
{
    ASSERT_TRUE(send(2, 5, 1));
    ASSERT_TRUE(send(0, 5, 2, 8, 4));
    EXPECT_FALSE(take(0, 5));
    ASSERT_TRUE(take(2, 5));
    expect_message(2, 5, 1);
}

TEST_F(NextMessageTest, StandsBehindReceivesThatArePosted)
{
    for (const std::int32_t source : {std::int32_t{0}, protocol::any_source}) {
        for (const std::int32_t tag : {5, protocol::any_tag}) {
            std::vector<std::uint8_t> first(8);
            Op* op = node.start_receive(receiver, source, tag, first.data(), first.size());
            ASSERT_TRUE(send(0, 5, 1));
            EXPECT_FALSE(take(0, 5)) << "it is the message of the receive before";
            EXPECT_TRUE(op->word.is_complete()) << "which has got it by the way";
            EXPECT_EQ(first.front(), 1);
            node.driver(receiver).destroy_op(op);

            op = node.start_receive(receiver, source, tag, first.data(), first.size());
            ASSERT_TRUE(send(0, 5, 2));
            ASSERT_TRUE(send(0, 5, 3));
            ASSERT_TRUE(take(0, 5));
            expect_message(0, 5, 3);
            EXPECT_TRUE(op->word.is_complete());
            EXPECT_EQ(first.front(), 2);
            node.driver(receiver).destroy_op(op);
        }
    }
}

TEST_F(NextMessageTest, AWindowOfReceivesGetsItsMessagesInOrder)
{
    constexpr std::size_t window = 200;
    std::vector<std::uint8_t> buffers(window, 0);
    std::vector<Op*> ops;
    std::size_t taken = 0;
    std::uint8_t sent = 0;
    for (std::size_t i = 0; i < window; ++i) {
        // The sender is behind, then ahead, and so on.
        for (; sent < (i / 16 % 2 == 0 ? i / 2 : i + 1); ++sent) {
            if (!send(0, 5, sent, 1)) {
                break;  // no room: the receiver looks at all lanes before it goes on with this one
            }
        }
        if (i % 50 == 49) {
            node.settle();
        }
        if (take(0, 5, 1)) {
            buffers[i] = got.front();
            ++taken;
        } else {
            ops.push_back(node.start_receive(receiver, 0, 5, &buffers[i], 1));
        }
    }
    for (; sent < window; ++sent) {
        ASSERT_TRUE(send(0, 5, sent, 1));
        node.settle();
    }
    EXPECT_GT(taken, 0U);
    EXPECT_GT(ops.size(), 0U);
    for (std::size_t i = 0; i < window; ++i) {
        EXPECT_EQ(buffers[i], i);
    }
    for (Op* const op : ops) {
        EXPECT_TRUE(op->word.is_complete());
        node.driver(receiver).destroy_op(op);
    }
}

TEST_F(NextMessageTest, WhatIsTooLongForAnEarlierReceiveEndsItWithAnError)
{
    std::vector<std::uint8_t> first(4);
    Op* op = node.start_receive(receiver, 0, 5, first.data(), first.size());
    ASSERT_TRUE(send(0, 5, 1));
    ASSERT_TRUE(send(0, 5, 2));
    ASSERT_TRUE(take(0, 5));
    expect_message(0, 5, 2);
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_EQ(op->error, OpError::truncated);
    EXPECT_EQ(first, std::vector<std::uint8_t>(4, 1));
    node.driver(receiver).destroy_op(op);
}

TEST_F(NextMessageTest, AReceiveThatIsPostedForAnotherNameIsNotInTheWay)
{
    std::vector<std::uint8_t> other(8);
    Op* op = node.start_receive(receiver, 0, 6, other.data(), other.size());
    ASSERT_TRUE(send(0, 5, 1));
    ASSERT_TRUE(take(0, 5));
    expect_message(0, 5, 1);
    ASSERT_TRUE(send(0, 6, 2));
    node.settle();
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_EQ(other.front(), 2);
}

TEST_F(NextMessageTest, AMessageThatWasKeptComesFirst)
{
    ASSERT_TRUE(send(0, 5, 1));
    node.settle();
    ASSERT_TRUE(send(0, 5, 2));
    ASSERT_TRUE(send(0, 6, 3));
    EXPECT_FALSE(take(0, 5)) << "the general way finds the one that was kept";
    EXPECT_FALSE(take(0, protocol::any_tag));
    EXPECT_FALSE(take(0, 6)) << "not the next one";
    ASSERT_TRUE(look(0, 5));
    expect_message(0, 5, 1);
    ASSERT_TRUE(take(0, 5));
    expect_message(0, 5, 2);
}

TEST_F(NextMessageTest, AMessageThatWasKeptForAnotherNameIsNotInTheWay)
{
    ASSERT_TRUE(send(0, 6, 1));
    ASSERT_TRUE(send(2, 5, 2));
    node.settle();
    ASSERT_TRUE(send(0, 5, 3));
    ASSERT_TRUE(take(0, 5));
    expect_message(0, 5, 3);
}

TEST_F(NextMessageTest, LeavesMessagesThatAreTooLongOrOffered)
{
    ASSERT_TRUE(send(0, 5, 1, 9));
    EXPECT_FALSE(take(0, 5, 8));
    EXPECT_EQ(got, std::vector<std::uint8_t>(8, 0)) << "the buffer is untouched";
    ASSERT_TRUE(take(0, 5));
    expect_message(0, 5, 1, 9);

    const std::vector<std::uint8_t> bytes(8, 2);
    Op* offer = node.start_send(0, receiver, 5, bytes.data(), bytes.size(), true);
    EXPECT_FALSE(take(0, 5));
    Op* op = node.start_receive(receiver, 0, 5, got.data(), got.size());
    node.settle();
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(offer->word.is_complete());
    EXPECT_EQ(got.front(), 2);
}

TEST_F(NextMessageTest, ASenderOfManyMessagesKeepsNoOtherOneWaitingForEver)
{
    constexpr int many = 1000;
    std::vector<std::uint8_t> other(8);
    Op* op = node.start_receive(receiver, 2, 6, other.data(), other.size());
    ASSERT_TRUE(send(2, 6, 9));
    int taken = 0;
    for (; taken < many && !op->word.is_complete(); ++taken) {
        ASSERT_TRUE(send(0, 5, 1));
        if (!take(0, 5)) {
            ASSERT_TRUE(look(0, 5));
        }
        expect_message(0, 5, 1);
    }
    EXPECT_LT(taken, many);
    EXPECT_EQ(other.front(), 9);
}

TEST_F(NextMessageTest, RoomGoesBackToASenderThatWaitsForIt)
{
    int sent = 0;
    while (send(0, 5, static_cast<std::uint8_t>(sent))) {
        ++sent;
    }
    const std::vector<std::uint8_t> last(8, 255);
    Op* op = node.start_send(0, receiver, 5, last.data(), last.size());
    EXPECT_FALSE(op->word.is_complete());
    for (int i = 0; i < sent; ++i) {
        if (!take(0, 5)) {
            ASSERT_TRUE(look(0, 5));
        }
        expect_message(0, 5, static_cast<std::uint8_t>(i));
    }
    EXPECT_TRUE(node.driver(0).rank().ownership.is_rung());
    node.settle(receiver);
    EXPECT_TRUE(op->word.is_complete());
    ASSERT_TRUE(take(0, 5) || look(0, 5));
    expect_message(0, 5, 255);
}

TEST_F(NextMessageTest, AnOpReportsWhatWasTakenForIt)
{
    Driver& driver = node.driver(receiver);
    Op* const op = driver.create_op(OpKind::receive);
    ASSERT_TRUE(send(0, 5, 1));
    ASSERT_TRUE(take(0, 5));
    protocol::complete_taken(driver, op, receive);
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_EQ(op->error, OpError::none);
    EXPECT_EQ(op->status_source, 0);
    EXPECT_EQ(op->status_tag, 5);
    EXPECT_EQ(op->status_bytes, 8U);
}

}  // namespace
}  // namespace headway::engine
