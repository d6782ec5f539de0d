// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/lane.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "platform/cpu.hpp"
#include "platform/line_transfer.hpp"

namespace headway::transport::shm {
namespace {

/// A lane with its ring, as in the node heap.
class LaneInMemory {
  public:
    explicit LaneInMemory(Showing showing)
        : bytes_(static_cast<std::byte*>(::operator new(Lane::bytes_needed(lane_ring_bytes_min),
                                                        std::align_val_t{alignof(Lane)})))
    {
        std::memset(bytes_, 0, Lane::bytes_needed(lane_ring_bytes_min));
        lane_ = new (bytes_) Lane;
        lane_->open(0, lane_ring_bytes_min, showing);
    }
    ~LaneInMemory() { ::operator delete(bytes_, std::align_val_t{alignof(Lane)}); }
    LaneInMemory(const LaneInMemory&) = delete;
    LaneInMemory& operator=(const LaneInMemory&) = delete;

    Lane& operator*() noexcept { return *lane_; }

  private:
    std::byte* bytes_;
    Lane* lane_;
};

/// What message `number` holds.
std::byte value_of(std::uint32_t number)
{
    return static_cast<std::byte>(number % 251 + 1);
}

/// Sends until three frames have been seen while they were written, and checks the bytes that were
/// there then, and all of them in the end. `has_early`: whether there are any then.
void see_early_frames(std::size_t payload_bytes, Showing showing, bool has_early)
{
    LaneInMemory memory{showing};
    Lane& lane = *memory;
    std::atomic<bool> is_enough{false};
    std::thread sender([&] {
        std::vector<std::byte> payload(payload_bytes);
        for (std::uint32_t number = 0; !is_enough.load(std::memory_order_relaxed); ++number) {
            std::memset(payload.data(), static_cast<int>(value_of(number)), payload.size());
            FrameHeader header;
            header.sequence = number;
            while (lane.post(FrameKind::eager, header, payload.data(), payload.size()) !=
                       base::Status::done &&
                   !is_enough.load(std::memory_order_relaxed)) {
                platform::yield_core();
            }
        }
    });
    std::uint32_t expected = 0;
    bool has_failed = false;
    for (std::uint32_t early_frames = 0; early_frames < 3 && !has_failed;) {
        EarlyFrame early;
        if (lane.peek_early(early)) {
            ++early_frames;
            has_failed = early.header.sequence != expected ||
                         has_early == (early.early_bytes == 0) ||
                         early.early_bytes >= payload_bytes || early.payload_bytes != payload_bytes;
            for (std::uint32_t i = 0; i < early.early_bytes; ++i) {
                has_failed = has_failed || early.payload[i] != value_of(expected);
            }
            platform::fetch_lines(early.payload, early.payload_bytes);
        }
        Frame frame;
        if (lane.peek(frame)) {
            has_failed = has_failed || frame.header.sequence != expected ||
                         frame.payload_bytes != payload_bytes;
            for (std::size_t i = 0; i < payload_bytes; ++i) {
                has_failed = has_failed || frame.payload[i] != value_of(expected);
            }
            lane.consume();
            ++expected;
        }
    }
    is_enough.store(true, std::memory_order_relaxed);
    sender.join();
    EXPECT_FALSE(has_failed) << "message " << expected;
}

TEST(Lane, AFrameIsSeenWhileItIsWrittenAndItsFirstBytesAreThere)
{
    see_early_frames(32 * 1024, Showing::in_steps, true);
}

TEST(Lane, AnAnnouncedFrameIsSeenBeforeItIsWritten)
{
    see_early_frames(16 * 1024, Showing::announced, false);
    see_early_frames(1024, Showing::announced, false);
}

TEST(Lane, WhereFramesAreAnnouncedOnlyLongerOnesGoInSteps)
{
    see_early_frames(32 * 1024, Showing::announced, true);
}

/// A payload that is made, with a receiver who looks at the lane before each piece.
struct MadeByTest {
    Lane& lane;
    std::uint32_t looks = 0;
    bool has_failed = false;

    static std::byte byte_at(std::uint64_t at) { return static_cast<std::byte>(at * 7 % 253); }

    static void make(const void* source, std::uint64_t from, std::uint64_t to, std::byte* place)
    {
        auto& self = *const_cast<MadeByTest*>(static_cast<const MadeByTest*>(source));
        EarlyFrame early;
        Frame frame;
        self.has_failed = self.has_failed || self.lane.peek(frame) ||
                          self.lane.peek_early(early) != (from != 0) ||
                          (from != 0 && early.early_bytes != from);
        for (std::uint64_t at = 0; from != 0 && at < early.early_bytes; ++at) {
            self.has_failed = self.has_failed || early.payload[at] != byte_at(at);
        }
        ++self.looks;
        for (std::uint64_t at = from; at < to; ++at) {
            place[at - from] = byte_at(at);
        }
    }
};

TEST(Lane, APayloadThatIsMadeIsSeenPieceAfterPiece)
{
    for (const Showing showing : {Showing::in_steps, Showing::announced}) {
        for (const std::uint64_t bytes : {41U, 2048U, 2049U, 9000U, 16384U, 32768U}) {
            LaneInMemory memory{showing};
            MadeByTest maker{*memory};
            FrameHeader header;
            header.tag = 9;
            ASSERT_EQ(
                (*memory).post_made(FrameKind::eager, header, {&MadeByTest::make, &maker, bytes}),
                base::Status::done);
            EXPECT_FALSE(maker.has_failed) << bytes;
            EXPECT_EQ(maker.looks, (bytes + 2047) / 2048);
            Frame frame;
            ASSERT_TRUE((*memory).peek(frame));
            EXPECT_EQ(frame.kind, FrameKind::eager);
            EXPECT_EQ(frame.header.tag, 9);
            ASSERT_EQ(frame.payload_bytes, bytes);
            for (std::uint64_t at = 0; at < bytes; ++at) {
                ASSERT_EQ(frame.payload[at], MadeByTest::byte_at(at));
            }
            (*memory).consume();
        }
    }
}

TEST(Lane, APayloadThatIsMadeNeedsRoomAndAsksForIt)
{
    LaneInMemory memory{Showing::in_steps};
    const auto post = [&] {
        MadeByTest maker{*memory};
        const auto ignore = [](const void*, std::uint64_t, std::uint64_t, std::byte*) {};
        return (*memory).post_made(FrameKind::eager, {}, {ignore, &maker, 16384});
    };
    int posted = 0;
    while (post() == base::Status::done) {
        ++posted;
    }
    EXPECT_EQ(posted, static_cast<int>(lane_ring_bytes_min / 16384));
    bool tells_sender = false;
    for (int taken = 0; taken < posted; ++taken) {
        Frame frame;
        ASSERT_TRUE((*memory).peek(frame));
        tells_sender = (*memory).consume() || tells_sender;
    }
    EXPECT_TRUE(tells_sender);
    EXPECT_EQ(post(), base::Status::done);
}

TEST(Lane, AFrameSaysWhetherItsBytesLieInACache)
{
    LaneInMemory memory{Showing::in_steps};
    Lane& lane = *memory;
    const std::vector<std::byte> payload(8192, value_of(1));
    const auto is_cached = [&](std::size_t bytes) {
        Frame frame;
        EXPECT_EQ(lane.post(FrameKind::eager, {}, payload.data(), bytes), base::Status::done);
        EXPECT_TRUE(lane.peek(frame));
        const bool result = frame.is_cached;
        lane.consume();
        return result;
    };
    // Places that were never used say nothing of the ways to store: none is tried.
    int new_places = 0;
    for (; is_cached(payload.size()) && lane.writing_ticks(payload.size()) == 0; ++new_places) {
        ASSERT_LT(new_places, 1000);
    }
    EXPECT_GT(new_places, 0);
    EXPECT_NE(lane.writing_ticks(payload.size()), 0U);
    // Then both are tried in turn at first.
    for (const bool expected : {false, true, false}) {
        EXPECT_EQ(is_cached(payload.size()), expected);
        EXPECT_FALSE(is_cached(8)) << "it lies in the line at hand";
    }
}

TEST(Lane, ShortFramesAreThereAtOnceHoweverTheyAreShown)
{
    for (const Showing showing : {Showing::in_steps, Showing::announced}) {
        LaneInMemory memory{showing};
        for (std::uint32_t bytes = 1; bytes < 1024; bytes += 31) {
            const std::vector<std::byte> payload(bytes, value_of(bytes));
            ASSERT_EQ((*memory).post(FrameKind::eager, {}, payload.data(), bytes),
                      base::Status::done);
            Frame frame;
            ASSERT_TRUE((*memory).peek(frame));
            ASSERT_EQ(frame.payload_bytes, bytes);
            EXPECT_EQ(std::memcmp(frame.payload, payload.data(), bytes), 0) << bytes;
            (*memory).consume();
        }
    }
}

}  // namespace
}  // namespace headway::transport::shm
