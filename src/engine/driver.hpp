// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/status.hpp"
#include "engine/node.hpp"
#include "engine/rank_lock.hpp"
#include "engine/rank_state.hpp"

namespace headway::engine {

/// A pair of hands for one rank: whoever holds the rank's ownership word works through a Driver of
/// his own process. The only caller of transports.
///
/// Thread rule: the holder of the rank's ownership word; with several threads in a rank, under its
/// RankLock.
class Driver {
  public:
    Driver(Node& node, RankState& rank, RankLock& lock)
        : node_(node), rank_(rank), lock_(lock), tracer_(node.tracer.get())
    {
    }
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    Node& node() noexcept { return node_; }
    RankState& rank() noexcept { return rank_; }
    RankLock& lock() noexcept { return lock_; }
    /// Null: nothing is recorded.
    observe::Tracer* tracer() noexcept { return tracer_; }
    /// See stop_observing().
    void stop_recording() noexcept { tracer_ = nullptr; }
    memory::Allocator& allocator() { return node_.allocator(rank_.rank); }

    /// One sweep over everything that can move for this rank; the number of events, 0 if nothing
    /// did. Never blocks, never recurses.
    int progress();

    /// Posts a frame at once if the lane has room and nothing waits before it.
    base::Status try_post(std::uint32_t peer, transport::FrameKind kind,
                          const transport::FrameHeader& header, const void* payload,
                          std::size_t payload_bytes);

    /// Posts a whole message at once. False, and nothing happened, where it is too long, its
    /// receiver takes no eager messages now, or its frame finds no room.
    bool try_post_eager(std::uint32_t peer, const transport::FrameHeader& header,
                        const void* address, std::uint64_t size_bytes)
    {
        return size_bytes <= node_.knobs.eager_limit && node_.rank_state(peer).takes_eager() &&
               try_post(peer, transport::FrameKind::eager, header, address, size_bytes) ==
                   base::Status::done;
    }

    /// Posts the op's frame now or, in order, as soon as there is room. An eager send completes
    /// when its bytes have been copied out; a control op is freed; others stay pending.
    void post(Op* op);

    /// Posts a protocol's record to a peer, now or as soon as there is room. False: the node heap
    /// is exhausted.
    template <typename Record>
    bool post_record(std::uint32_t peer, transport::FrameKind kind, const Record& record)
    {
        static_assert(sizeof(Record) <= transport::inline_bytes_max);
        return post_control(peer, kind, &record, sizeof record);
    }

    /// Completes an op of any rank and fires who waits for it. The results were written before.
    /// The op may be gone when this returns.
    void complete(Op* op);

    /// Does what each waiter of a chain, taken off its word, is there for.
    void fire(sync::Waiter* chain);

    /// A new op of this rank, or null if the heap is exhausted.
    Op* create_op(OpKind kind);
    /// Frees an op that is complete or was never started.
    void destroy_op(Op* op) { allocator().free(op); }

    /// Lets the op go: freed now if complete, else by whoever completes it.
    void abandon_op(Op* op);

  private:
    bool post_control(std::uint32_t peer, transport::FrameKind kind, const void* record,
                      std::size_t record_bytes);
    base::Status post_now(std::uint32_t peer, transport::FrameKind kind,
                          const transport::FrameHeader& header, const void* payload,
                          std::size_t payload_bytes);
    base::Status post_observed(std::uint32_t peer, transport::FrameKind kind,
                               const transport::FrameHeader& header, const void* payload,
                               std::size_t payload_bytes);
    base::Status transmit(std::uint32_t peer, transport::FrameKind kind,
                          const transport::FrameHeader& header, const void* payload,
                          std::size_t payload_bytes);
    bool post_op(Op* op);
    bool post_eager_op(Op* op);
    bool open_lane(std::uint32_t peer);
    int take_frames();
    int post_waiting();

    Node& node_;
    RankState& rank_;
    RankLock& lock_;
    observe::Tracer* tracer_;
};

}  // namespace headway::engine
