// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/status.hpp"
#include "memory/node_heap.hpp"
#include "platform/short_copy.hpp"
#include "transport/transport.hpp"

namespace headway::transport::self {

/// Frames of a rank to itself: a list in order of posting. In the node heap; all bytes zero is
/// the empty state. Thread rule: the rank's executor, for both halves.
class Loopback {
  public:
    /// done, retry_lane_full (the rank has to poll first), or retry_no_memory.
    base::Status post(memory::Allocator& allocator, FrameKind kind, FrameHeader header,
                      const void* payload, std::size_t payload_bytes) noexcept
    {
        if (stored_bytes_ > stored_bytes_max) [[unlikely]] {
            return base::Status::retry_lane_full;
        }
        void* place = take_place(allocator, payload_bytes);
        if (place == nullptr) {
            return base::Status::retry_no_memory;
        }
        auto* stored = new (place) Stored;
        stored->frame.kind = kind;
        stored->frame.header = header;
        stored->frame.payload = static_cast<std::byte*>(place) + sizeof(Stored);
        stored->frame.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
        platform::copy_short(static_cast<std::byte*>(place) + sizeof(Stored), payload,
                             payload_bytes);
        (newest_ != nullptr ? newest_->next : oldest_) = stored;
        newest_ = stored;
        stored_bytes_ += sizeof(Stored) + payload_bytes;
        return base::Status::done;
    }

    bool is_empty() const noexcept { return oldest_ == nullptr; }

    bool poll(Frame& frame) noexcept
    {
        if (oldest_ == nullptr) {
            return false;
        }
        frame = oldest_->frame;
        return true;
    }
    /// As of a lane.
    bool peek(Frame& frame) noexcept { return poll(frame); }

    void release(memory::Allocator& allocator) noexcept
    {
        Stored* done = oldest_;
        oldest_ = done->next;
        stored_bytes_ -= sizeof(Stored) + done->frame.payload_bytes;
        if (oldest_ == nullptr) {
            newest_ = nullptr;
        }
        if (spare_ == nullptr && done->frame.payload_bytes <= inline_bytes_max) {
            spare_ = done;
        } else {
            allocator.free(done);
        }
    }

  private:
    struct Stored {
        Frame frame;
        Stored* next = nullptr;
    };

    /// A few of the longest frames, as much as a lane to another rank holds: more waits with the
    /// sender.
    static constexpr std::size_t stored_bytes_max = 256 * 1024;

    /// Every place has room for a short payload, so that the spare one fits the next.
    void* take_place(memory::Allocator& allocator, std::size_t payload_bytes) noexcept
    {
        if (payload_bytes <= inline_bytes_max && spare_ != nullptr) [[likely]] {
            return std::exchange(spare_, nullptr);
        }
        return allocator.allocate(sizeof(Stored) + std::max(payload_bytes, inline_bytes_max));
    }

    std::size_t stored_bytes_ = 0;
    Stored* spare_ = nullptr;  ///< the place of a short frame that was released
    Stored* oldest_ = nullptr;
    Stored* newest_ = nullptr;
};

/// A rank's loopback as the Transport concept sees it.
struct Endpoint {
    Loopback* loopback;
    memory::Allocator* allocator;

    static constexpr std::size_t frame_bytes_max() noexcept { return 64 * 1024; }

    base::Status post(FrameKind kind, FrameHeader header, const void* payload,
                      std::size_t bytes) noexcept
    {
        return loopback->post(*allocator, kind, header, payload, bytes);
    }
    bool poll(Frame& frame) noexcept { return loopback->poll(frame); }
    void release() noexcept { loopback->release(*allocator); }
};

static_assert(Transport<Endpoint>);

}  // namespace headway::transport::self
