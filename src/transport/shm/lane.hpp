// SPDX-License-Identifier: Apache-2.0
//
// A lane: the way of frames from one rank to another of the same node. One ring of 64-byte cells
// carries headers and short payloads; longer payloads lie in a byte ring beside it.
//
// A payload of several KiB is written in steps, and the state of the cell says how many are done,
// so that a receiver who wants this very frame copies while the sender writes. Nobody waits for a
// writer: a frame that is not whole is not there.
//
// Picture of a cell's 60 bytes (after its state word):
//   FrameHeader 16 | payload_bytes 4 | 40 bytes: the payload, or Beside: where in the byte ring
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "platform/atomic.hpp"
#include "platform/streaming_copy.hpp"
#include "sync/spsc_bytes.hpp"
#include "sync/spsc_cells.hpp"
#include "transport/frame.hpp"
#include "transport/shm/store_choice.hpp"

namespace headway::transport::shm {

inline constexpr std::size_t lane_cells = 64;

/// Byte rings. A ring that both sides' caches hold is a slow one: each line written must first be
/// taken from its last reader. Beyond two mebibytes the lines have left for a shared cache
/// meanwhile
/// (`bench_lane` shows both). Untouched pages cost nothing.
inline constexpr std::size_t lane_ring_bytes_min = 128 * 1024;
inline constexpr std::size_t lane_ring_bytes_max = 2048 * 1024;

/// Longest payload of a frame.
inline constexpr std::size_t lane_frame_bytes_max = lane_ring_bytes_min / 4;

/// Size of the byte rings where each of `ranks` may have a lane to each other one, in a heap of
/// `heap_bytes`: all of them together stay below a quarter of it, and 256 MiB, while they can.
constexpr std::size_t lane_ring_bytes(std::uint64_t ranks, std::uint64_t heap_bytes) noexcept
{
    constexpr std::uint64_t together_max = 256ULL * 1024 * 1024;
    std::size_t bytes = lane_ring_bytes_max;
    while (bytes > lane_ring_bytes_min &&
           ranks * ranks * bytes > std::min(together_max, heap_bytes / 4)) {
        bytes /= 2;
    }
    return bytes;
}

/// What a cell holds. Written by the sender before it publishes, read by the receiver.
struct CellContent {
    FrameHeader header;
    std::uint32_t payload_bytes;
    std::byte inline_payload[inline_bytes_max];
};
static_assert(sizeof(CellContent) == sync::Cell::payload_bytes);

/// In the place of the inline payload.
struct Beside {
    std::uint64_t end = 0;         ///< position in the byte ring; the size says where it begins
    std::uint64_t step_bytes = 0;  ///< of each step but the last
};

/// A frame of which the first bytes are there.
struct EarlyFrame {
    FrameHeader header;
    std::uint32_t payload_bytes = 0;  ///< of the whole frame
    std::uint32_t early_bytes = 0;    ///< that are there
    const std::byte* payload = nullptr;
};

/// All bytes zero except what open() sets. In the node heap, made by the sender, found by the
/// receiver through its list of inbound lanes, never moved.
struct Lane {
    /// Bytes to allocate for a lane, its byte ring included.
    static constexpr std::size_t bytes_needed(std::size_t ring_bytes) noexcept
    {
        return sizeof(Lane) + ring_bytes;
    }

    /// Requires a power of two from lane_ring_bytes_min to lane_ring_bytes_max.
    void open(std::uint32_t sender_rank, std::size_t ring_bytes) noexcept
    {
        sender = sender_rank;
        payloads_.open(ring_bytes);
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
        content->header = header;
        content->payload_bytes = static_cast<std::uint32_t>(payload_bytes);
        if (payload_bytes <= inline_bytes_max) {
            if (payload_bytes != 0) {  // an empty payload may have no address
                std::memcpy(content->inline_payload, payload, payload_bytes);
            }
        } else if (!write_beside(cell, static_cast<const std::byte*>(payload), payload_bytes)) {
            return base::Status::retry_lane_full;
        }
        cells.publish(cell, static_cast<std::uint8_t>(kind));
        return base::Status::done;
    }

    /// Thread rule: the receiver's executor.
    bool peek(Frame& frame) noexcept
    {
        std::uint8_t kind = 0;
        sync::Cell* cell = cells.peek(&kind);
        if (cell == nullptr) {
            return false;
        }
        const auto* content = static_cast<const CellContent*>(cell->payload());
        if ((kind & steps_flag) != 0) [[unlikely]] {
            return false;
        }
        frame.kind = static_cast<FrameKind>(kind);
        frame.header = content->header;
        frame.payload_bytes = content->payload_bytes;
        frame.payload = content->inline_payload;
        if (content->payload_bytes > inline_bytes_max) {
            frame.payload = place_beside(content);
        }
        return true;
    }

    /// The oldest frame while its sender writes it. False: there is none, or it is whole, or
    /// nothing of it is there. Thread rule: the receiver's executor.
    bool peek_early(EarlyFrame& frame) noexcept
    {
        std::uint8_t kind = 0;
        const sync::Cell* cell = cells.peek(&kind);
        if (cell == nullptr || (kind & steps_flag) == 0) {
            return false;
        }
        const auto* content = static_cast<const CellContent*>(cell->payload());
        const std::uint32_t steps = kind & ~steps_flag;
        frame.header = content->header;
        frame.payload_bytes = content->payload_bytes;
        frame.early_bytes = steps * static_cast<std::uint32_t>(beside_of(content).step_bytes);
        frame.payload = place_beside(content);
        return true;
    }

    /// Gives the peeked frame back. True: the sender waits for room and must be woken if it
    /// sleeps. Requires a successful peek.
    bool consume() noexcept
    {
        const auto* content = static_cast<const CellContent*>(cells.peek()->payload());
        const bool is_beside = content->payload_bytes > inline_bytes_max;
        const bool gives_bytes = is_beside && payloads_.release(beside_of(content).end);
        // Room goes back to the sender with every quarter of a ring; only then it can matter.
        const bool gives_cells = cells.consume();
        if (!gives_bytes && !gives_cells) [[likely]] {
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

  private:
    /// In the kind of a cell: its frame is not whole, and the other bits are its steps written.
    static constexpr std::uint8_t steps_flag = 0x80;
    static_assert(static_cast<std::uint8_t>(FrameKind::count) < steps_flag);
    /// Payloads up to here are written in one step, and not measured.
    static constexpr std::size_t step_bytes_min = 1024;
    /// A step of streaming stores ends with a fence.
    static constexpr std::size_t streaming_step_bytes_min = 4096;
    static constexpr std::size_t steps_max = 4;

    /// A multiple of cache lines.
    static constexpr std::size_t step_of(std::size_t payload_bytes, bool streams) noexcept
    {
        constexpr std::size_t line = platform::cache_line_bytes;
        const std::size_t step = (payload_bytes / steps_max + line - 1) / line * line;
        return std::max(streams ? streaming_step_bytes_min : step_bytes_min, step);
    }

    bool write_beside(sync::Cell* cell, const std::byte* payload,
                      std::size_t payload_bytes) noexcept
    {
        sync::ByteReservation piece{};
        if (!payloads_.reserve(payload_bytes, &piece)) {
            return false;
        }
        auto* const place = static_cast<std::byte*>(payloads_.place_of(piece.begin));
        if (payload_bytes <= step_bytes_min) {
            set_beside(cell, {piece.end, payload_bytes});
            std::memcpy(place, payload, payload_bytes);
            return true;
        }
        const bool streams = store_choice_.next_streams();
        const std::uint64_t begin = platform::ticks();
        const std::size_t step = step_of(payload_bytes, streams);
        set_beside(cell, {piece.end, step});
        std::uint8_t steps = 0;
        for (std::size_t at = 0; at < payload_bytes; at += step) {
            if (at != 0) {
                cells.announce(cell, steps_flag | ++steps);
            }
            const std::size_t bytes = std::min(step, payload_bytes - at);
            if (streams) {
                platform::copy_streaming(place + at, payload + at, bytes);
            } else {
                std::memcpy(place + at, payload + at, bytes);
            }
        }
        store_choice_.note(streams, payload_bytes, platform::ticks() - begin);
        return true;
    }

    static void set_beside(sync::Cell* cell, const Beside& beside) noexcept
    {
        std::memcpy(static_cast<CellContent*>(cell->payload())->inline_payload, &beside,
                    sizeof beside);
    }

    static Beside beside_of(const CellContent* content) noexcept
    {
        Beside beside;
        std::memcpy(&beside, content->inline_payload, sizeof beside);
        return beside;
    }

    const std::byte* place_beside(const CellContent* content) noexcept
    {
        const std::uint64_t begin =
            payloads_.begin_of(beside_of(content).end, content->payload_bytes);
        return static_cast<const std::byte*>(payloads_.place_of(begin));
    }

    // The sender's own.
    alignas(platform::cache_line_bytes) StoreChoice store_choice_;
    // Last: its bytes follow the Lane in memory.
    sync::SpscBytes payloads_;
};

}  // namespace headway::transport::shm
