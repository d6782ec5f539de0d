// SPDX-License-Identifier: Apache-2.0
// Posting a message at once, in line: for the few places that every short message passes.
#pragma once

#include "engine/copy_bytes.hpp"
#include "engine/driver.hpp"

namespace headway::engine {

/// Whether a frame is of no use to its receiver until somebody works for it: steps of collectives,
/// whatever asks for bytes, and long messages, which are to be there when the receiver asks for
/// them. The others wait for the receiver's next call.
inline bool needs_receiver(transport::FrameKind kind, transport::FrameHeader header,
                           bool is_long) noexcept
{
    return kind != transport::FrameKind::eager || (header.context & 1U) != 0 || is_long;
}

/// A frame lies in the lane.
[[gnu::always_inline]] inline void Driver::tell_posted(std::uint32_t peer,
                                                       transport::FrameKind kind,
                                                       transport::FrameHeader header,
                                                       std::size_t payload_bytes, Urgency urgency)
{
    if (urgency == Urgency::by_kind &&
        needs_receiver(kind, header, payload_bytes > node_.knobs.eager_limit)) {
        worker_.ring(node_.rank_state(peer));
    } else {
        node_.wake_parked(node_.rank_state(peer));
    }
    count(rank_.counters.frames_posted);
}

inline base::Status Driver::transmit(std::uint32_t peer, transport::FrameKind kind,
                                     transport::FrameHeader header, const void* payload,
                                     std::size_t payload_bytes, Urgency urgency)
{
    if (peer == rank_.rank) [[unlikely]] {
        return post_to_self(kind, header, payload, payload_bytes);
    }
    if (node_.is_distant(peer)) [[unlikely]] {
        return post_distant(peer, kind, header, payload, payload_bytes);
    }
    PeerSlot& slot = rank_.peers[peer];
    if (slot.lane == nullptr && !open_lane(peer)) [[unlikely]] {
        rank_.lacks_memory = true;
        return base::Status::retry_no_memory;
    }
    const base::Status status = node_.is_plain
                                    ? slot.lane->post(kind, header, payload, payload_bytes)
                                    : post_to_lane(peer, kind, header, payload, payload_bytes);
    if (status == base::Status::done) [[likely]] {
        tell_posted(peer, kind, header, payload_bytes, urgency);
    } else {
        count(rank_.counters.retries);
    }
    return status;
}

inline base::Status Driver::post_bytes(std::uint32_t peer, transport::FrameHeader header,
                                       const void* address, std::uint64_t size_bytes,
                                       Urgency urgency)
{
    if (!is_local_) [[unlikely]] {
        return post_far_bytes(peer, header, address, size_bytes);
    }
    if (tracer_ != nullptr) [[unlikely]] {
        return post_observed(peer, transport::FrameKind::eager, header, address, size_bytes);
    }
    return transmit(peer, transport::FrameKind::eager, header, address, size_bytes, urgency);
}

inline bool Driver::try_post_whole(std::uint32_t peer, transport::FrameHeader header,
                                   const void* address, std::uint64_t size_bytes, Urgency urgency)
{
    if (node_.is_distant(peer)) [[unlikely]] {
        return try_post_distant(peer, header, address, size_bytes);
    }
    return node_.rank_state(peer).takes_eager() && rank_.peers[peer].waiting.is_empty() &&
           post_bytes(peer, header, address, size_bytes, urgency) == base::Status::done;
}

inline bool Driver::leaves_for_reading(std::uint32_t peer, std::uint64_t bytes, Sender sender)
{
    if (bytes < transport::shm::ReadingChoice::bytes_min || !node_.is_plain ||
        node_.is_oversubscribed || node_.is_distant(peer)) {
        return false;
    }
    const RankState& receiver = node_.rank_state(peer);
    if (receiver.process == rank_.process) {
        return false;  // the rank's own lane among them, whose sender need not be inside the door
    }
    transport::shm::Lane* const lane = rank_.peers[peer].lane;
    // In an exchange the receiver is often between two calls when the message comes, and its
    // sender, who waits by then, copies it in its place: dearer than a lane, but where cores ask
    // each other.
    const bool exchanges = sender == Sender::exchanges;
    const bool is_due = !exchanges || node_.asks_other_cores ||
                        node_.lane_reading == transport::shm::Reading::always;
    const bool keeps_nobody =
        exchanges || sender == Sender::goes_on || was_waiting_lately(receiver);
    // Relaxed: see ThreadsOfRank. What one of several threads reads, all others wait for.
    return lane != nullptr && keeps_nobody &&
           ((is_due && lane->is_next_read()) || lane->spares_memory(bytes)) &&
           receiver.threads.are_several.load(std::memory_order_relaxed) == 0 &&
           node_.peer_memory.can_reach(receiver.process);
}

inline std::uint64_t Driver::writing_ticks(std::uint32_t peer, std::uint64_t bytes) const
{
    const transport::shm::Lane* const lane = rank_.peers[peer].lane;
    return lane != nullptr ? lane->writing_ticks(bytes) : 0;
}

inline bool Driver::try_post_eager(std::uint32_t peer, transport::FrameHeader header,
                                   const void* address, std::uint64_t size_bytes)
{
    return size_bytes <= node_.knobs.eager_limit &&
           try_post_whole(peer, header, address, size_bytes);
}

}  // namespace headway::engine
