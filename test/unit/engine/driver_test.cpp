// SPDX-License-Identifier: Apache-2.0
//
// The driver over a real node: order and back-pressure of frames, and what becomes of ops.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "in_process_node.hpp"

namespace headway::engine {
namespace {

constexpr std::int32_t any_source = protocol::any_source;
constexpr std::int32_t any_tag = protocol::any_tag;

TEST(Driver, FramesThatFindNoRoomWaitInOrder)
{
    constexpr std::int32_t messages = 1000;
    InProcessNode node(2);
    const std::uint64_t before = node.bytes_in_use();
    std::vector<Op*> sends;
    std::vector<std::vector<std::int32_t>> sent;
    for (std::int32_t i = 0; i < messages; ++i) {
        // Short ones, longer ones, and offers, all with one tag.
        const std::size_t words = i % 3 == 0 ? 1 : i % 3 == 1 ? 900 : 5000;
        sent.emplace_back(words, i);
    }
    for (const std::vector<std::int32_t>& each : sent) {
        sends.push_back(node.start_send(0, 1, 7, each.data(), each.size() * 4));
    }
    EXPECT_NE(node.driver(0).rank().peers_waiting, nullptr);
    EXPECT_FALSE(sends[messages - 2]->word.is_complete());
    std::vector<std::int32_t> buffer(5000);
    for (std::int32_t i = 0; i < messages; ++i) {
        Op* receive = node.start_receive(1, any_source, any_tag, buffer.data(), 20'000);
        node.settle();
        ASSERT_TRUE(receive->word.is_complete()) << "message " << i;
        ASSERT_EQ(receive->status_bytes, sent[static_cast<std::size_t>(i)].size() * 4);
        ASSERT_EQ(buffer[0], i);
        ASSERT_EQ(buffer[receive->status_bytes / 4 - 1], i);
        node.driver(1).destroy_op(receive);
    }
    EXPECT_EQ(node.driver(0).rank().peers_waiting, nullptr);
    EXPECT_TRUE(protocol::is_quiet(node.driver(0).rank()));
    EXPECT_GT(node.driver(0).rank().counters.retries.load(), 0U);
    for (Op* send : sends) {
        ASSERT_TRUE(send->word.is_complete());
        node.driver(0).destroy_op(send);
    }
    // The match context goes with its communicator, and its bins for so many messages.
    protocol::forget_context(node.driver(1), 0);
    EXPECT_LE(node.bytes_in_use(), before + 8192);
}

TEST(Driver, AFullLaneHoldsUpOnePeerOnly)
{
    InProcessNode node(3);
    const std::vector<std::byte> block(8000);
    std::vector<Op*> sends;
    for (int i = 0; i < 40; ++i) {
        sends.push_back(node.start_send(0, 1, 0, block.data(), block.size()));
    }
    ASSERT_NE(node.driver(0).rank().peers_waiting, nullptr);
    std::vector<std::byte> buffer(8000);
    Op* other = node.start_receive(2, 0, 0, buffer.data(), buffer.size());
    sends.push_back(node.start_send(0, 2, 0, block.data(), block.size()));
    node.settle(1);
    EXPECT_TRUE(other->word.is_complete());
    EXPECT_TRUE(sends.back()->word.is_complete());
    EXPECT_NE(node.driver(0).rank().peers_waiting, nullptr);
    // Nothing overtakes what waits.
    EXPECT_EQ(node.driver(0).try_post(1, transport::FrameKind::eager, {}, nullptr, 0),
              base::Status::retry_lane_full);
}

TEST(Driver, ARankSendsToItself)
{
    InProcessNode node(1);
    for (const std::size_t bytes : {0U, 8U, 5000U, 100'000U}) {
        const std::vector<std::byte> sent(bytes, std::byte{42});
        std::vector<std::byte> got(bytes);
        Op* send = node.start_send(0, 0, 3, sent.data(), bytes, bytes == 8);
        Op* receive = node.start_receive(0, 0, 3, got.data(), bytes);
        node.settle();
        ASSERT_TRUE(send->word.is_complete());
        ASSERT_TRUE(receive->word.is_complete());
        EXPECT_EQ(got, sent);
        node.driver(0).destroy_op(send);
        node.driver(0).destroy_op(receive);
    }
}

TEST(Driver, AnOfferCompletesTheSenderFromTheReceiversSide)
{
    for (const Distance distance : {Distance::together, Distance::apart}) {
        InProcessNode node(2, {}, distance);
        const std::vector<std::uint32_t> sent(100'000, 0x1234'5678);
        std::vector<std::uint32_t> got(sent.size());
        Op* send = node.start_send(0, 1, 3, sent.data(), sent.size() * 4);
        node.settle();
        EXPECT_FALSE(send->word.is_complete());
        Op* receive = node.start_receive(1, 0, 3, got.data(), got.size() * 4);
        node.settle();
        EXPECT_TRUE(send->word.is_complete());
        EXPECT_TRUE(receive->word.is_complete());
        EXPECT_EQ(got, sent);
        EXPECT_EQ(node.driver(1).rank().counters.bytes_piped.load(),
                  distance == Distance::apart ? sent.size() * 4 : 0);
        node.driver(0).destroy_op(send);
        node.driver(1).destroy_op(receive);
    }
}

TEST(Driver, AShortReceiveIsTruncatedAndItsSenderIsNot)
{
    for (const Distance distance : {Distance::together, Distance::apart}) {
        for (const std::size_t room : {0U, 100U, 90'000U}) {
            InProcessNode node(2, {}, distance);
            const std::vector<std::byte> sent(100'000, std::byte{7});
            std::vector<std::byte> got(sent.size());
            Op* send = node.start_send(0, 1, 3, sent.data(), sent.size());
            Op* receive = node.start_receive(1, 0, 3, got.data(), room);
            node.settle();
            ASSERT_TRUE(send->word.is_complete());
            ASSERT_TRUE(receive->word.is_complete());
            EXPECT_EQ(send->error, OpError::none);
            EXPECT_EQ(receive->error, OpError::truncated);
            EXPECT_EQ(receive->status_bytes, room);
            EXPECT_EQ(got[room], std::byte{0});
        }
    }
}

TEST(Driver, ASynchronousSendWaitsForItsReceive)
{
    InProcessNode node(2);
    const std::uint32_t sent = 5;
    std::uint32_t got = 0;
    Op* send = node.start_send(0, 1, 3, &sent, sizeof sent, true);
    node.settle();
    EXPECT_FALSE(send->word.is_complete());
    Op* receive = node.start_receive(1, 0, any_tag, &got, sizeof got);
    node.settle();
    EXPECT_TRUE(send->word.is_complete());
    EXPECT_TRUE(receive->word.is_complete());
    EXPECT_EQ(got, sent);
}

TEST(Driver, AbandonedOpsAreFreedWhenTheyEnd)
{
    InProcessNode node(2);
    std::vector<std::byte> bytes(50'000);
    std::uint64_t before = 0;
    for (int round = 0; round < 3; ++round) {
        Op* early = node.start_send(0, 1, 1, bytes.data(), 8);
        node.driver(0).abandon_op(early);
        Op* late = node.start_send(0, 1, 2, bytes.data(), bytes.size());
        node.driver(0).abandon_op(late);
        Op* receives[] = {node.start_receive(1, 0, 1, bytes.data(), 8),
                          node.start_receive(1, 0, 2, bytes.data(), bytes.size())};
        node.driver(1).abandon_op(receives[0]);
        node.driver(1).abandon_op(receives[1]);
        node.settle();
        // The first round makes the lane and the match context, which stay.
        before = round == 0 ? node.bytes_in_use() : before;
        EXPECT_EQ(node.bytes_in_use(), before);
    }
}

TEST(Driver, ACancelledReceiveTakesNoMessage)
{
    InProcessNode node(2);
    std::uint32_t got[2] = {};
    Op* first = node.start_receive(1, any_source, 4, &got[0], 4);
    Op* second = node.start_receive(1, 0, 4, &got[1], 4);
    EXPECT_TRUE(protocol::cancel_receive(node.driver(1), first));
    EXPECT_TRUE(first->is_cancelled);
    EXPECT_TRUE(first->word.is_complete());
    const std::uint32_t sent = 9;
    Op* send = node.start_send(0, 1, 4, &sent, 4);
    node.settle();
    EXPECT_TRUE(second->word.is_complete());
    EXPECT_FALSE(protocol::cancel_receive(node.driver(1), second));
    EXPECT_EQ(got[0], 0U);
    EXPECT_EQ(got[1], 9U);
    node.driver(0).destroy_op(send);
}

TEST(Driver, OnlyRanksWithACoreEachHaveLongLanes)
{
    InProcessNode node(2);
    const auto bytes_of_a_lane = [&](bool is_oversubscribed) {
        node.node().is_oversubscribed = is_oversubscribed;
        node.node().choose_buffers();
        return node.node().lane_ring_bytes;
    };
    EXPECT_EQ(bytes_of_a_lane(true), transport::shm::lane_ring_bytes_min);
    EXPECT_GT(bytes_of_a_lane(false), transport::shm::lane_ring_bytes_min);
}

}  // namespace
}  // namespace headway::engine
