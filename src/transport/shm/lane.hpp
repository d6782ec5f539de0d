// SPDX-License-Identifier: Apache-2.0
//
// A lane: the way of frames from one rank to another of the same node. One ring of 64-byte cells
// carries headers and short payloads; longer payloads lie in a byte ring beside it.
//
// Picture of a cell's 60 bytes (after its state word):
//   FrameHeader 16 | payload_bytes 4 | 40 bytes: the payload, or the end position in the byte ring
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "platform/atomic.hpp"
#include "sync/spsc_bytes.hpp"
#include "sync/spsc_cells.hpp"
#include "transport/frame.hpp"

namespace headway::transport::shm {

inline constexpr std::size_t lane_cells = 64;
inline constexpr std::size_t lane_payload_bytes = 64 * 1024;

/// What a cell holds. Written by the sender before it publishes, read by the receiver.
struct CellContent {
    FrameHeader header;
    std::uint32_t payload_bytes;
    std::byte inline_payload[inline_bytes_max];
};
static_assert(sizeof(CellContent) == sync::Cell::payload_bytes);

/// All bytes zero except what open() sets. In the node heap, made by the sender, found by the
/// receiver through its list of inbound lanes, never moved.
struct Lane {
    /// Bytes to allocate for a lane, its byte ring included.
    static constexpr std::size_t bytes_needed() noexcept
    {
        return sizeof(Lane) + lane_payload_bytes;
    }

    void open(std::uint32_t sender_rank) noexcept
    {
        sender = sender_rank;
        payloads.open(lane_payload_bytes);
    }

    /// Thread rule: the sender's executor. done, or retry_lane_full with nothing changed; then the
    /// receiver's consume() says that the sender is to be told when there is room.
    base::Status post(FrameKind kind, const FrameHeader& header, const void* payload,
                      std::size_t payload_bytes) noexcept
    {
        base::Status status = try_post(kind, header, payload, payload_bytes);
        if (status != base::Status::done) [[unlikely]] {
            is_starving.store(1, std::memory_order_relaxed);  // relaxed: ordered by the fence
            // (3) sequentially consistent, pairs with (4): either this second try sees the room
            // that the receiver gave back, or the receiver sees that somebody waits for it.
            platform::RealAtomics::fence_full();
            status = try_post(kind, header, payload, payload_bytes);
        }
        return status;
    }

    base::Status try_post(FrameKind kind, const FrameHeader& header, const void* payload,
                          std::size_t payload_bytes) noexcept
    {
        sync::Cell* cell = cells.reserve();
        if (cell == nullptr) [[unlikely]] {
            return base::Status::retry_lane_full;
        }
        auto* content = static_cast<CellContent*>(cell->payload());
        if (payload_bytes <= inline_bytes_max) {
            if (payload_bytes != 0) {  // an empty payload may have no address
                std::memcpy(content->inline_payload, payload, payload_bytes);
            }
        } else if (!post_beside(content, payload, payload_bytes)) {
            return base::Status::retry_lane_full;
        }
        content->header = header;
        content->payload_bytes = static_cast<std::uint32_t>(payload_bytes);
        cells.publish(cell, static_cast<std::uint8_t>(kind));
        return base::Status::done;
    }

    /// Thread rule: the receiver's executor.
    bool peek(Frame& frame) noexcept
    {
        sync::Cell* cell = cells.peek();
        if (cell == nullptr) {
            return false;
        }
        const auto* content = static_cast<const CellContent*>(cell->payload());
        frame.kind = static_cast<FrameKind>(cell->kind());
        frame.header = content->header;
        frame.payload_bytes = content->payload_bytes;
        frame.payload = content->inline_payload;
        if (content->payload_bytes > inline_bytes_max) {
            frame.payload = place_beside(content);
        }
        return true;
    }

    /// Gives the peeked frame back. True: the sender waits for room and must be woken if it
    /// sleeps. Requires a successful peek.
    bool consume() noexcept
    {
        const auto* content = static_cast<const CellContent*>(cells.peek()->payload());
        const bool is_beside = content->payload_bytes > inline_bytes_max;
        if (is_beside) {
            payloads.release(end_of(content));
        }
        cells.consume();
        // Room goes back to the sender with every quarter of a ring; only then it can matter.
        if (!is_beside && cells.taken() % (lane_cells / 4) != 0) [[likely]] {
            return false;
        }
        platform::RealAtomics::fence_full();  // (4) sequentially consistent, pairs with (3)
        // Relaxed: ordered by the fence; two frames in a row may both find it set, which is as
        // well.
        if (is_starving.load(std::memory_order_relaxed) == 0) {
            return false;
        }
        is_starving.store(0, std::memory_order_relaxed);
        return true;
    }

    // Written by the receiver's list when the sender joins it, read by the receiver.
    Lane* next_inbound = nullptr;
    // Written by open(), read by the receiver.
    std::uint32_t sender = 0;
    // Set by the sender when it finds no room, cleared by the receiver that tells it.
    std::atomic<std::uint32_t> is_starving{0};
    sync::SpscCells<lane_cells> cells;
    sync::SpscBytes payloads;  // its bytes follow the Lane in memory

  private:
    bool post_beside(CellContent* content, const void* payload, std::size_t payload_bytes) noexcept
    {
        sync::ByteReservation piece{};
        if (!payloads.reserve(payload_bytes, &piece)) {
            return false;
        }
        std::memcpy(payloads.place_of(piece.begin), payload, payload_bytes);
        std::memcpy(content->inline_payload, &piece.end, sizeof piece.end);
        return true;
    }

    static std::uint64_t end_of(const CellContent* content) noexcept
    {
        std::uint64_t end = 0;
        std::memcpy(&end, content->inline_payload, sizeof end);
        return end;
    }

    const std::byte* place_beside(const CellContent* content) noexcept
    {
        const std::uint64_t begin = payloads.begin_of(end_of(content), content->payload_bytes);
        return static_cast<const std::byte*>(payloads.place_of(begin));
    }
};

}  // namespace headway::transport::shm
