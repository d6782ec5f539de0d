// SPDX-License-Identifier: Apache-2.0
//
// What the delaying transport promises beyond the concept, with a clock of its own: no frame is
// seen before its moment, none is kept back longer, and one lane's wait is no other lane's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "memory/node_heap.hpp"
#include "transport/delay/delayed.hpp"
#include "transport/shm/endpoint.hpp"
#include "unit/memory/heap_fixture.hpp"

namespace headway::transport::delay {
namespace {

using base::Status;

class DelayTest : public ::testing::Test {
  protected:
    shm::Lane* make_lane(std::uint32_t sender)
    {
        auto* lane =
            new (heap_->for_rank(0).allocate(shm::Lane::bytes_needed(shm::lane_ring_bytes_min)))
                shm::Lane;
        lane->open(sender, shm::lane_ring_bytes_min);
        inbound_->join(lane);
        return lane;
    }

    static Status post_number(shm::Lane& lane, std::int64_t due_ns, std::uint32_t number)
    {
        return post(lane, due_ns, FrameKind::eager, {.sequence = number}, &number, sizeof number);
    }

    std::unique_ptr<memory::NodeHeap> heap_ = memory::make_heap(2);
    shm::Inbound* inbound_ = heap_->for_rank(1).make<shm::Inbound>();
};

TEST_F(DelayTest, AFrameIsSeenFromItsMomentOn)
{
    shm::Lane* lane = make_lane(0);
    ASSERT_EQ(post_number(*lane, 500, 7), Status::done);
    Frame frame;
    Curtain before(499);
    EXPECT_FALSE(inbound_->poll(frame, before));
    EXPECT_EQ(before.earliest_ns(), 500);
    Curtain then(500);
    ASSERT_TRUE(inbound_->poll(frame, then));
    EXPECT_EQ(frame.record<std::uint32_t>(), 7U);
    EXPECT_EQ(frame.payload_bytes, sizeof(std::uint32_t));
    EXPECT_EQ(then.earliest_ns(), Curtain::nothing_withheld);
}

TEST_F(DelayTest, AWithheldFrameHoldsUpNoOtherLane)
{
    shm::Lane* slow = make_lane(0);
    shm::Lane* quick = make_lane(1);
    ASSERT_EQ(post_number(*slow, 900, 1), Status::done);
    ASSERT_EQ(post_number(*quick, 100, 2), Status::done);
    Frame frame;
    Curtain curtain(100);
    ASSERT_TRUE(inbound_->poll(frame, curtain));
    EXPECT_EQ(inbound_->current_sender(), 1U);
    (void)inbound_->release();
    EXPECT_FALSE(inbound_->poll(frame, curtain));
    EXPECT_EQ(curtain.earliest_ns(), 900);
}

// Frames of random senders with random delays against a model: whatever is due is there, in order
// for each sender, and what the curtain calls the earliest moment is just that.
TEST_F(DelayTest, RandomDelaysAgainstAModel)
{
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        std::minstd_rand dice(seed);
        inbound_ = heap_->for_rank(1).make<shm::Inbound>();
        std::vector<shm::Lane*> lanes;
        struct Expected {
            std::int64_t due_ns;
            std::uint32_t number;
        };
        std::map<std::uint32_t, std::deque<Expected>> model;
        std::vector<std::int64_t> newest_ns;
        for (std::uint32_t sender = 0; sender < 4; ++sender) {
            lanes.push_back(make_lane(sender));
            newest_ns.push_back(0);
        }
        std::uint32_t number = 0;
        for (std::int64_t now_ns = 1; now_ns < 2000; ++now_ns) {
            const std::uint32_t sender = dice() % 4;
            const std::int64_t due_ns =
                std::max(newest_ns[sender], now_ns + static_cast<std::int64_t>(dice() % 50));
            if (post_number(*lanes[sender], due_ns, number) == Status::done) {
                newest_ns[sender] = due_ns;
                model[sender].push_back({due_ns, number++});
            }
            if (dice() % 5 != 0) {
                continue;
            }
            Curtain curtain(now_ns);
            Frame frame;
            while (inbound_->poll(frame, curtain)) {
                auto& expected = model[inbound_->current_sender()];
                ASSERT_FALSE(expected.empty());
                ASSERT_LE(expected.front().due_ns, now_ns);
                ASSERT_EQ(frame.record<std::uint32_t>(), expected.front().number);
                expected.pop_front();
                (void)inbound_->release();
            }
            std::int64_t earliest_ns = Curtain::nothing_withheld;
            for (const auto& [from, expected] : model) {
                if (!expected.empty()) {
                    ASSERT_GT(expected.front().due_ns, now_ns) << "seed " << seed;
                    earliest_ns = std::min(earliest_ns, expected.front().due_ns);
                }
            }
            ASSERT_EQ(curtain.earliest_ns(), earliest_ns) << "seed " << seed;
        }
    }
}

/// Moments of frames posted 10 ns after each other.
std::vector<std::int64_t> moments_of(const Schedule& schedule, std::uint32_t sender,
                                     std::uint32_t receiver)
{
    std::vector<std::int64_t> moments;
    LaneOrder order;
    for (std::int64_t now_ns = 0; now_ns < 10'000; now_ns += 10) {
        moments.push_back(schedule.due_ns(now_ns, sender, receiver, order));
        Schedule::note_posted(order, moments.back());
    }
    return moments;
}

TEST(Schedule, KeepsTheOrderOfALaneAndItsBounds)
{
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const Schedule schedule{.delay_ns = 100, .jitter_ns = 2000, .seed = seed};
        EXPECT_TRUE(schedule.withholds());
        const auto moments = moments_of(schedule, 1, 2);
        EXPECT_TRUE(std::ranges::is_sorted(moments));
        std::int64_t longest_ns = 0;
        for (std::size_t i = 0; i < moments.size(); ++i) {
            const std::int64_t waited_ns = moments[i] - static_cast<std::int64_t>(i) * 10;
            EXPECT_GE(waited_ns, 100);
            longest_ns = std::max(longest_ns, waited_ns);
        }
        EXPECT_LE(longest_ns, 100 + 2000);
        EXPECT_GT(longest_ns, 100 + 1000);
    }
}

TEST(Schedule, SendersOvertakeEachOther)
{
    const Schedule schedule{.jitter_ns = 2000, .seed = 5};
    const auto one = moments_of(schedule, 1, 0);
    const auto two = moments_of(schedule, 2, 0);
    int first = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
        first += one[i] < two[i] ? 1 : 0;
    }
    EXPECT_GT(first, 100);
    EXPECT_LT(first, static_cast<int>(one.size()) - 100);
}

TEST(Schedule, FollowsFromTheSeedAndTheLane)
{
    const Schedule schedule{.jitter_ns = 2000, .seed = 5};
    const Schedule other{.jitter_ns = 2000, .seed = 6};
    EXPECT_EQ(moments_of(schedule, 1, 2), moments_of(schedule, 1, 2));
    EXPECT_NE(moments_of(schedule, 1, 2), moments_of(other, 1, 2));
    EXPECT_NE(moments_of(schedule, 1, 2), moments_of(schedule, 2, 1));
    EXPECT_NE(moments_of(schedule, 1, 2), moments_of(schedule, 1, 3));
}

TEST(Schedule, WithoutJitterAllFramesAreLateByTheSame)
{
    const auto moments = moments_of({.delay_ns = 700}, 1, 2);
    for (std::size_t i = 0; i < moments.size(); ++i) {
        EXPECT_EQ(moments[i], static_cast<std::int64_t>(i) * 10 + 700);
    }
    EXPECT_FALSE(Schedule{}.withholds());
}

}  // namespace
}  // namespace headway::transport::delay
