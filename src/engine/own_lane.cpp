// SPDX-License-Identifier: Apache-2.0
#include "engine/own_lane.hpp"

#include "engine/driver.hpp"

namespace headway::engine {

namespace {

/// A thread's way through the gate, from when it finds another one inside.
class Meeting {
  public:
    void operator()() noexcept { met_ns_ = platform::monotonic_ns(); }
    /// Requires: inside the gate.
    void count(OwnLane& own) const noexcept
    {
        if (met_ns_ != 0) [[unlikely]] {
            own.count_meeting(met_ns_);
        }
    }

  private:
    std::int64_t met_ns_ = 0;
};

}  // namespace

bool post_beside(Node& node, RankState& rank, transport::FrameHeader header, const void* payload,
                 std::size_t payload_bytes)
{
    OwnLane& own = rank.own_lane;
    Meeting meeting;
    if (!rank.takes_eager() || !own.gate.enter_beside(meeting)) {
        return false;
    }
    meeting.count(own);
    const base::Status status =
        own.post(transport::FrameKind::eager, header, payload, payload_bytes);
    own.gate.leave();
    if (status != base::Status::done) {
        return false;
    }
    node.wake_parked(rank);  // another thread of it may sleep, and no peer rings for its frames
    return true;
}

bool Driver::has_own_lane()
{
    OwnLane& own = rank_.own_lane;
    const bool may_have_one =
        node_.is_plain && node_.knobs.thread_posts == config::ThreadPostsChoice::beside;
    if (own.lane == nullptr && lock_.is_shared() && may_have_one && rank_.loopback.is_empty() &&
        open_lane(rank_.rank)) {
        own.lane = rank_.peers[rank_.rank].lane;
    }
    return own.lane != nullptr;
}

base::Status Driver::post_among_threads(transport::FrameKind kind, transport::FrameHeader header,
                                        const void* payload, std::size_t payload_bytes)
{
    base::Status status = base::Status::done;
    if (has_own_lane()) {
        OwnLane& own = rank_.own_lane;
        Meeting meeting;
        own.gate.enter(meeting);
        meeting.count(own);
        status = own.post(kind, header, payload, payload_bytes);
        own.gate.leave();
        // Not before the first frame lies in it: that one may be the oldest of those that waited.
        if (!own.gate.is_open() && rank_.peers[rank_.rank].waiting.is_empty() &&
            status == base::Status::done) {
            own.gate.open();
        }
    } else {
        status = rank_.loopback.post(allocator(), kind, header, payload, payload_bytes);
    }
    node_.wake_parked(rank_);
    return status;
}

}  // namespace headway::engine
