// SPDX-License-Identifier: Apache-2.0
//
// Receives without an op (protocol::receive_at_once): what they take, and what they leave.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine/post.hpp"
#include "protocol/match.hpp"
#include "protocol/point_to_point.hpp"
#include "unit/engine/in_process_node.hpp"

namespace headway::engine {
namespace {

class QuickReceiveTest : public testing::Test {
  protected:
    explicit QuickReceiveTest(std::size_t bytes = 2000) : sent(bytes), got(bytes)
    {
        std::iota(sent.begin(), sent.end(), std::uint8_t{1});
    }

    /// Rank 1 looks for a message of rank 0.
    bool look(std::int32_t source, std::int32_t tag, std::size_t room)
    {
        receive = {.wanted = {.context = 0, .source = source, .tag = tag},
                   .address = reinterpret_cast<std::byte*>(got.data()),
                   .size_bytes = room};
        const std::uint32_t sender =
            source == protocol::any_source ? protocol::any_sender : std::uint32_t{0};
        return protocol::receive_at_once(node.driver(1), receive, sender);
    }
    bool look(std::int32_t tag) { return look(0, tag, got.size()); }
    void send(std::int32_t tag, bool is_synchronous = false)
    {
        sends.push_back(node.start_send(0, 1, tag, sent.data(), sent.size(), is_synchronous));
    }

    InProcessNode node{2};
    std::vector<std::uint8_t> sent;
    std::vector<std::uint8_t> got;
    std::vector<Op*> sends;
    QuickReceive receive;
};

TEST_F(QuickReceiveTest, TakesAMessageThatComesAndMakesNothingInTheHeap)
{
    send(5);
    ASSERT_TRUE(look(5));  // makes what the ranks keep for each other
    send(6);
    got.assign(got.size(), 0);
    const std::uint64_t before = node.driver(1).allocator().slab_bytes_in_use();
    ASSERT_TRUE(look(6));
    EXPECT_EQ(node.driver(1).allocator().slab_bytes_in_use(), before);
    EXPECT_EQ(got, sent);
    EXPECT_EQ(receive.matched.source, 0);
    EXPECT_EQ(receive.matched.tag, 6);
    EXPECT_EQ(receive.status_bytes, sent.size());
}

TEST_F(QuickReceiveTest, TakesAMessageThatWasKeptAndFreesIt)
{
    send(5);
    node.settle();
    ASSERT_NE(node.driver(1).rank().counters.unexpected_bytes.load(), 0U);
    ASSERT_TRUE(look(protocol::any_source, protocol::any_tag, got.size()));
    EXPECT_EQ(got, sent);
    EXPECT_EQ(receive.matched.tag, 5);
    EXPECT_EQ(node.driver(1).rank().counters.unexpected_bytes.load(), 0U);
}

TEST_F(QuickReceiveTest, LeavesOtherMessagesAndThoseThatAreNotThere)
{
    send(5);
    EXPECT_FALSE(look(6));
    EXPECT_EQ(node.driver(1).expected(), nullptr) << "it looks no more";
    EXPECT_TRUE(look(5)) << "it was kept";
}

TEST_F(QuickReceiveTest, LeavesWhatComesBehindInItsLane)
{
    for (const std::int32_t tag : {5, 5, 5}) {
        send(tag);
    }
    for (const std::uint64_t taken : {1U, 2U, 3U}) {
        // From any source, so that it sweeps over all lanes.
        ASSERT_TRUE(look(protocol::any_source, 5, got.size()));
        EXPECT_EQ(node.driver(1).rank().counters.frames_received.load(), taken);
        EXPECT_EQ(node.driver(1).rank().counters.unexpected_bytes_max.load(), 0U);
    }
}

TEST_F(QuickReceiveTest, AMessageThatIsTooLongWaitsForAnOp)
{
    for (const bool is_kept : {false, true}) {
        send(5);
        if (is_kept) {
            node.settle();
        }
        EXPECT_FALSE(look(0, 5, 10));
        Op* op = node.start_receive(1, 0, 5, got.data(), got.size());
        EXPECT_TRUE(op->word.is_complete());
        EXPECT_EQ(got, sent);
        got.assign(got.size(), 0);
    }
}

TEST_F(QuickReceiveTest, AnOfferedMessageWaitsForAnOp)
{
    send(5, true);
    EXPECT_FALSE(look(5));
    Op* op = node.start_receive(1, 0, 5, got.data(), got.size());
    node.settle();
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_TRUE(sends.front()->word.is_complete());
    EXPECT_EQ(got, sent);
}

TEST_F(QuickReceiveTest, StandsBehindReceivesThatArePosted)
{
    std::vector<std::uint8_t> first(sent.size());
    Op* op =
        node.start_receive(1, protocol::any_source, protocol::any_tag, first.data(), first.size());
    send(5);
    EXPECT_FALSE(look(5));
    EXPECT_TRUE(op->word.is_complete());
    EXPECT_EQ(first, sent);
    EXPECT_NE(got, sent);
}

TEST_F(QuickReceiveTest, StepsOfCollectivesAreKnownByTheirNumber)
{
    const transport::FrameHeader second{.context = 1, .source = 0, .tag = 0, .sequence = 2};
    ASSERT_TRUE(node.driver(0).try_post_eager(1, second, sent.data(), sent.size()));
    receive = {.wanted = {.context = 1, .source = 0, .tag = 0, .sequence = 1},
               .address = reinterpret_cast<std::byte*>(got.data()),
               .size_bytes = got.size()};
    EXPECT_FALSE(protocol::receive_at_once(node.driver(1), receive, 0));
    receive.wanted.sequence = 2;
    EXPECT_TRUE(protocol::receive_at_once(node.driver(1), receive, 0));
    EXPECT_EQ(got, sent);
}

}  // namespace
}  // namespace headway::engine
