// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.hpp"
#include "transport/shm/lane.hpp"
#include "transport/transport.hpp"

namespace headway::transport::shm {

/// Receiving half of a rank: the lanes of all peers that ever sent to it. In the node heap; all
/// bytes zero is the empty state.
class Inbound {
  public:
    /// Thread rule: any sender; each lane joins once.
    void join(Lane* lane) noexcept
    {
        // Relaxed: the value is only linked to.
        Lane* seen = newest_.load(std::memory_order_relaxed);
        do {
            lane->next_inbound = seen;
            // (1) release, pairs with (2): the lane is open when the receiver finds it.
        } while (!newest_.compare_exchange_weak(seen, lane, std::memory_order_release,
                                                std::memory_order_relaxed));
    }

    /// The oldest frame of the next lane in turn that has one. Thread rule: the executor.
    bool poll(Frame& frame) noexcept
    {
        return poll(frame, [](Frame&) { return true; });
    }

    /// The same among the frames for which `may_be_seen` holds: another transport over this one.
    template <typename MayBeSeen>
    bool poll(Frame& frame, MayBeSeen&& may_be_seen) noexcept
    {
        // (2) acquire, pairs with (1).
        Lane* const first = newest_.load(std::memory_order_acquire);
        if (first == nullptr) {
            return false;
        }
        // Each call begins after the lane served last, so that no busy peer starves another.
        Lane* const start = cursor_ != nullptr ? cursor_ : first;
        Lane* lane = start;
        do {
            if (lane->peek(frame) && may_be_seen(frame)) {
                current_ = lane;
                return true;
            }
            lane = lane->next_inbound != nullptr ? lane->next_inbound : first;
        } while (lane != start);
        return false;
    }

    /// Gives the polled frame back. True: its sender waits for room (see Lane::consume).
    bool release() noexcept
    {
        cursor_ = current_->next_inbound;
        return current_->consume();
    }

    /// The lane of a sender; null if there is none yet. Thread rule: the executor.
    Lane* lane_of(std::uint32_t sender) const noexcept
    {
        // (2) acquire, pairs with (1).
        Lane* lane = newest_.load(std::memory_order_acquire);
        while (lane != nullptr && lane->sender != sender) {
            lane = lane->next_inbound;
        }
        return lane;
    }

    /// Rank whose frame the last poll returned.
    std::uint32_t current_sender() const noexcept { return current_->sender; }

  private:
    // Written by senders, read by the executor.
    std::atomic<Lane*> newest_{nullptr};
    // The executor's own.
    Lane* cursor_ = nullptr;
    Lane* current_ = nullptr;
};

/// One pair as the Transport concept sees it: the lane towards a peer and the inbound lanes here.
struct Endpoint {
    Lane* outbound;
    Inbound* inbound;

    static constexpr std::size_t frame_bytes_max() noexcept { return lane_frame_bytes_max; }

    base::Status post(FrameKind kind, FrameHeader header, const void* payload,
                      std::size_t bytes) noexcept
    {
        return outbound->post(kind, header, payload, bytes);
    }
    bool poll(Frame& frame) noexcept { return inbound->poll(frame); }
    void release() noexcept { (void)inbound->release(); }
};

static_assert(Transport<Endpoint>);

}  // namespace headway::transport::shm
