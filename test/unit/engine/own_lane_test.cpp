// SPDX-License-Identifier: Apache-2.0
//
// A rank's messages to itself on their way from the loopback to a lane that several threads post
// to: when that lane begins, who may post to it, and that order holds all along.
#include "engine/own_lane.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "protocol/match.hpp"
#include "unit/engine/in_process_node.hpp"

namespace headway::engine {
namespace {

class OwnLaneTest : public testing::Test {
  protected:
    OwnLaneTest() { node.lock(0).enable(0); }

    void let_another_thread_in()
    {
        std::thread([this] {
            node.lock(0).lock();
            node.lock(0).unlock();
        }).join();
    }

    OwnLane& own() { return node.driver(0).rank().own_lane; }

    /// As the executor. Each message is the number of those before it.
    void send()
    {
        values.push_back(next++);
        ops.push_back(node.start_send(0, 0, tag, &values.back(), sizeof(std::uint32_t)));
    }

    bool send_beside()
    {
        const transport::FrameHeader header{.context = 0, .source = 0, .tag = tag};
        const bool is_sent =
            post_beside(node.node(), node.driver(0).rank(), header, &next, sizeof next);
        next += is_sent ? 1 : 0;
        return is_sent;
    }

    void expect_all_in_order(std::uint32_t first = 0)
    {
        for (std::uint32_t expected = first; expected < next; ++expected) {
            std::uint32_t got = UINT32_MAX;
            Op* const op = node.start_receive(0, protocol::any_source, tag, &got, sizeof got);
            node.settle();
            ASSERT_TRUE(op->word.is_complete()) << "message " << expected << " is not there";
            EXPECT_EQ(got, expected);
            node.driver(0).destroy_op(op);
        }
        for (Op* const op : ops) {
            EXPECT_TRUE(op->word.is_complete());
            node.driver(0).destroy_op(op);
        }
    }

    static constexpr std::int32_t tag = 5;

    InProcessNode node{1};
    std::uint32_t next = 0;
    std::deque<std::uint32_t> values;
    std::vector<Op*> ops;
};

TEST_F(OwnLaneTest, IsNotThereForOneThread)
{
    send();
    EXPECT_EQ(own().lane, nullptr);
    EXPECT_FALSE(send_beside());
    expect_all_in_order();
}

TEST_F(OwnLaneTest, BeginsWhenTheLoopbackIsEmpty)
{
    send();
    let_another_thread_in();
    send();
    EXPECT_EQ(own().lane, nullptr) << "a frame lies in the loopback still";
    EXPECT_FALSE(send_beside());
    node.settle();
    send();
    EXPECT_NE(own().lane, nullptr);
    EXPECT_TRUE(send_beside());
    EXPECT_TRUE(own().has_frame());
    send();
    EXPECT_TRUE(send_beside());
    expect_all_in_order();
    EXPECT_FALSE(own().has_frame());
}

TEST_F(OwnLaneTest, CountsThoseWhoFindTheGateTaken)
{
    let_another_thread_in();
    send();
    ASSERT_TRUE(send_beside());
    EXPECT_EQ(own().gates_contended, 0U);
    EXPECT_EQ(own().gate_wait_ns, 0U);
    std::uint64_t posts = 0;
    // Whether the other thread comes in time is the system's choice.
    for (; own().gates_contended == 0; ++posts) {
        node.settle();
        own().gate.enter();
        std::thread other([this] { EXPECT_TRUE(send_beside()); });
        std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(posts));
        own().gate.leave();
        other.join();
    }
    EXPECT_EQ(own().gates_contended, 1U);
    EXPECT_GT(own().gate_wait_ns, 0U);
}

TEST_F(OwnLaneTest, SendsGoBehindThoseThatWaitForRoom)
{
    let_another_thread_in();
    send();
    while (send_beside()) {
    }
    EXPECT_GE(next, transport::shm::lane_lines);
    send();
    ASSERT_FALSE(ops.back()->word.is_complete()) << "the lane had room";
    // Half a ring of frames leaves the lane, so there is room; but the queue comes first.
    transport::Frame frame;
    std::uint32_t taken = 0;
    for (; taken < transport::shm::lane_lines && own().lane->peek(frame); ++taken) {
        (void)own().lane->consume(frame);
    }
    EXPECT_FALSE(send_beside());
    node.settle();
    EXPECT_TRUE(ops.back()->word.is_complete());
    EXPECT_TRUE(send_beside());
    expect_all_in_order(taken);
}

}  // namespace
}  // namespace headway::engine
