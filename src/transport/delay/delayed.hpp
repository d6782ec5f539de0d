// SPDX-License-Identifier: Apache-2.0
//
// A transport over another one that delivers each frame at a moment of its own: it shows on one
// machine what a slow network does (`delay`), or one whose messages overtake each other (`sim`, in
// the virtual time of a simulated team). It moves nothing by itself: the frame lies in the wrapped
// transport from the start, and its receiver does not look at it before its moment has come.
// Whoever sleeps meanwhile must wake then: see RankState::due_ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/status.hpp"
#include "transport/delay/schedule.hpp"
#include "transport/shm/lane.hpp"
#include "transport/transport.hpp"

namespace headway::transport::delay {

/// Goes before the payload of every frame: when it may be seen, on CLOCK_MONOTONIC.
struct Stamp {
    std::int64_t due_ns;
};

/// Longest payload of a delayed frame: what the wrapped transport carries beside the stamp.
inline constexpr std::size_t payload_bytes_max = shm::lane_frame_bytes_max - sizeof(Stamp);

/// Posts a frame that may be seen from `due_ns` on. Requires: moments of one lane never go back.
template <typename Outbound>
base::Status post(Outbound& outbound, std::int64_t due_ns, FrameKind kind, FrameHeader header,
                  const void* payload, std::size_t payload_bytes)
{
    std::byte stamped[sizeof(Stamp) + payload_bytes_max];
    const Stamp stamp{due_ns};
    std::memcpy(stamped, &stamp, sizeof stamp);
    if (payload_bytes != 0) {  // an empty payload may have no address
        std::memcpy(stamped + sizeof stamp, payload, payload_bytes);
    }
    return outbound.post(kind, header, stamped, sizeof stamp + payload_bytes);
}

/// What a receiver sees of delayed frames at one moment. Thread rule: its executor.
class Curtain {
  public:
    static constexpr std::int64_t nothing_withheld = std::numeric_limits<std::int64_t>::max();

    explicit Curtain(std::int64_t now_ns) noexcept : now_ns_(now_ns) {}

    /// Whether the oldest frame of a lane may be seen; takes the stamp off if so.
    bool operator()(Frame& frame) noexcept
    {
        const auto stamp = frame.record<Stamp>();
        if (stamp.due_ns > now_ns_) {
            earliest_ns_ = stamp.due_ns < earliest_ns_ ? stamp.due_ns : earliest_ns_;
            return false;
        }
        frame.payload += sizeof stamp;
        frame.payload_bytes -= static_cast<std::uint32_t>(sizeof stamp);
        return true;
    }

    /// When the first of the frames withheld by this curtain may be seen, or nothing_withheld.
    std::int64_t earliest_ns() const noexcept { return earliest_ns_; }

  private:
    std::int64_t now_ns_;
    std::int64_t earliest_ns_ = nothing_withheld;
};

/// One pair as the Transport concept sees it, over the halves of the wrapped transport, from rank 0
/// to rank 1.
template <typename Outbound, typename Inbound>
struct Endpoint {
    Outbound* outbound;
    Inbound* inbound;
    Schedule schedule;
    std::int64_t (*now_ns)();
    LaneOrder order{};

    static constexpr std::size_t frame_bytes_max() noexcept { return payload_bytes_max; }

    base::Status post(FrameKind kind, FrameHeader header, const void* payload, std::size_t bytes)
    {
        const std::int64_t due_ns = schedule.due_ns(now_ns(), 0, 1, order);
        const base::Status status = delay::post(*outbound, due_ns, kind, header, payload, bytes);
        if (status == base::Status::done) {
            Schedule::note_posted(order, due_ns);
        }
        return status;
    }
    bool poll(Frame& frame)
    {
        Curtain curtain(now_ns());
        return inbound->poll(frame, curtain);
    }
    void release() { (void)inbound->release(); }
};

}  // namespace headway::transport::delay
