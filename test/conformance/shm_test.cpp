// SPDX-License-Identifier: Apache-2.0
//
// What the transport of one node promises beyond the concept: many senders are served in turn, a
// sender that found no room is told, and the two sides may be threads or processes.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "memory/node_heap.hpp"
#include "platform/cpu.hpp"
#include "transport/shm/endpoint.hpp"
#include "unit/memory/heap_fixture.hpp"

namespace headway::transport::shm {
namespace {

using base::Status;

class ShmTest : public ::testing::Test {
  protected:
    Lane* make_lane(std::uint32_t sender)
    {
        auto* lane =
            new (heap_->for_rank(0).allocate(Lane::bytes_needed(lane_ring_bytes_min))) Lane;
        lane->open(sender, lane_ring_bytes_min);
        return lane;
    }
    Inbound* make_inbound() { return heap_->for_rank(1).make<Inbound>(); }

    std::unique_ptr<memory::NodeHeap> heap_ = memory::make_heap(2);
};

Status post_number(Lane& lane, std::uint32_t number, std::size_t bytes)
{
    std::array<std::uint32_t, 4096> payload;
    payload.fill(number);
    return lane.post(FrameKind::eager, {.sequence = number}, payload.data(), bytes);
}

TEST_F(ShmTest, ServesSendersInTurn)
{
    constexpr std::uint32_t senders = 9;
    Inbound* inbound = make_inbound();
    std::vector<Lane*> lanes;
    Frame frame;
    EXPECT_FALSE(inbound->poll(frame));
    for (std::uint32_t sender = 0; sender < senders; ++sender) {
        lanes.push_back(make_lane(sender));
        inbound->join(lanes.back());
        ASSERT_FALSE(inbound->poll(frame)) << "an empty lane gives nothing";
    }
    for (Lane* lane : lanes) {
        while (post_number(*lane, lane->sender, 8) == Status::done) {
        }
    }
    for (std::size_t round = 0; round < 2 * lane_lines; ++round) {
        std::set<std::uint32_t> served;
        for (std::uint32_t i = 0; i < senders; ++i) {
            ASSERT_TRUE(inbound->poll(frame));
            EXPECT_EQ(frame.header.sequence, inbound->current_sender());
            served.insert(inbound->current_sender());
            (void)inbound->release();
        }
        ASSERT_EQ(served.size(), senders) << "round " << round;
    }
    EXPECT_FALSE(inbound->poll(frame));
}

TEST_F(ShmTest, ALateSenderIsServedBesideABusyOne)
{
    Inbound* inbound = make_inbound();
    Lane* busy = make_lane(0);
    inbound->join(busy);
    Frame frame;
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(post_number(*busy, 0, 100), Status::done);
        ASSERT_EQ(post_number(*busy, 0, 100), Status::done);
        ASSERT_TRUE(inbound->poll(frame));
        (void)inbound->release();
    }
    Lane* late = make_lane(1);
    ASSERT_EQ(post_number(*late, 1, 100), Status::done);
    inbound->join(late);
    std::set<std::uint32_t> served;
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(inbound->poll(frame));
        served.insert(inbound->current_sender());
        (void)inbound->release();
    }
    EXPECT_EQ(served.size(), 2U);
}

TEST_F(ShmTest, ASenderWithRoomIsNeverTold)
{
    Inbound* inbound = make_inbound();
    Lane* lane = make_lane(0);
    inbound->join(lane);
    Frame frame;
    for (std::uint32_t i = 0; i < 5 * lane_lines; ++i) {
        ASSERT_EQ(post_number(*lane, i, i % 3 == 0 ? 3000 : 8), Status::done);
        ASSERT_TRUE(inbound->poll(frame));
        ASSERT_FALSE(inbound->release());
    }
}

// A sender that sleeps when it finds no room, and tries again only when it is told, must not sleep
// for ever: whatever the sizes, the receiver tells it while it empties the lane.
TEST_F(ShmTest, AStarvingSenderIsTold)
{
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        std::minstd_rand dice(seed);
        Inbound* inbound = make_inbound();
        Lane* lane = make_lane(0);
        inbound->join(lane);
        const std::size_t limit = std::array<std::size_t, 3>{40, 2000, 16384}[seed % 3];
        std::uint32_t sent = 0;
        std::uint32_t taken = 0;
        bool sleeps = false;
        while (taken < 600) {
            std::size_t bytes = dice() % (limit + 1);
            while (!sleeps && sent < 600) {
                sleeps = post_number(*lane, sent, bytes) != Status::done;
                sent += sleeps ? 0 : 1;
                bytes = sleeps ? bytes : dice() % (limit + 1);
            }
            Frame frame;
            for (auto some = dice() % 80; some != 0 && inbound->poll(frame); --some) {
                ASSERT_EQ(frame.header.sequence, taken++);
                sleeps = !inbound->release() && sleeps;
            }
            ASSERT_TRUE(!sleeps || inbound->poll(frame))
                << "seed " << seed << ": all is taken and the sender still sleeps";
        }
        heap_->for_rank(0).free(lane);
        heap_->for_rank(1).free(inbound);
    }
}

constexpr std::uint32_t exchanged = 20'000;

std::size_t bytes_of(std::uint32_t number)
{
    return (number * 2654435761U >> 7) % (number % 10 == 0 ? 16385U : 90U);
}

int send_all(Lane& lane)
{
    for (std::uint32_t number = 0; number < exchanged; ++number) {
        // The test stands for the engine, which alone repeats.
        while (post_number(lane, number, bytes_of(number)) != Status::done) {
            platform::yield_core();
        }
    }
    return 0;
}

int receive_all(Inbound& inbound)
{
    for (std::uint32_t number = 0; number < exchanged; ++number) {
        Frame frame;
        while (!inbound.poll(frame)) {
            platform::yield_core();
        }
        std::uint32_t filled_with = number;
        if (frame.payload_bytes >= sizeof number) {
            std::memcpy(&filled_with, frame.payload + frame.payload_bytes / 8 * 4, sizeof number);
        }
        if (frame.header.sequence != number || frame.payload_bytes != bytes_of(number) ||
            filled_with != number) {
            return 1;
        }
        (void)inbound.release();
    }
    return 0;
}

TEST_F(ShmTest, CarriesFramesBetweenThreads)
{
    Inbound* inbound = make_inbound();
    Lane* lane = make_lane(0);
    std::thread sender([&] { send_all(*lane); });
    inbound->join(lane);
    const int code = receive_all(*inbound);
    sender.join();
    EXPECT_EQ(code, 0);
}

TEST_F(ShmTest, CarriesFramesBetweenProcesses)
{
    Inbound* inbound = make_inbound();
    Lane* lane = make_lane(0);
    const pid_t sender = memory::in_child([&] {
        inbound->join(lane);
        return send_all(*lane);
    });
    const pid_t receiver = memory::in_child([&] { return receive_all(*inbound); });
    EXPECT_EQ(memory::exit_code_of(sender), 0);
    EXPECT_EQ(memory::exit_code_of(receiver), 0);
}

}  // namespace
}  // namespace headway::transport::shm
