// SPDX-License-Identifier: Apache-2.0
#include "engine/driver.hpp"

#include <algorithm>

#include "engine/copy_job.hpp"
#include "engine/graph_engine.hpp"
#include "engine/observation.hpp"
#include "engine/post.hpp"
#include "engine/siblings.hpp"
#include "engine/staged_pieces.hpp"
#include "platform/cpu.hpp"
#include "platform/line_transfer.hpp"
#include "platform/memory_copy.hpp"

namespace headway::engine {

int Driver::progress()
{
    count(rank_.counters.sweeps);
    int events = take_frames();
    if (rank_.peers_waiting != nullptr) [[unlikely]] {
        rank_.lacks_memory = false;
        events += post_waiting();
    }
    events += node_.poller(*this);
    if (has_staged_only()) [[unlikely]] {
        events += move_staged_only(*this);
    }
    if (!rank_.fired.is_empty() || rank_.stalled_graphs != nullptr ||
        rank_.owner_graphs != nullptr) {
        events += run_fired_nodes(*this);
    }
    return events;
}

void Driver::advance()
{
    progress();
    if (siblings_ != nullptr) [[unlikely]] {
        constexpr unsigned advances_a_look = 16;
        if (++advances_ % advances_a_look == 0) {
            (void)siblings_->look_in(siblings_->others_of(rank_.instance));
        }
    }
    if (rank_.copies.is_empty() && rank_.invited.is_empty() && rank_.kept_pieces == nullptr &&
        rank_.invitations.is_empty()) [[likely]] {
        return;
    }
    const bool is_alone = node_.knobs.progress == config::ProgressChoice::none;
    if (copy_some(*this, is_alone ? UINT64_MAX : node_.knobs.copy_at_once) != 0) {
        progress();
    }
}

bool Driver::write_memory(std::byte* target, const void* source, std::uint64_t bytes,
                          bool is_cached)
{
    if (is_local_) [[likely]] {
        platform::copy_arrived(target, source, bytes, is_cached);
        return true;
    }
    auto* const here = static_cast<std::byte*>(const_cast<void*>(source));
    return node_.peer_memory.copy(place_of(target), {here, node_.own_process}, bytes) ==
           transport::CopyOutcome::done;
}

bool Driver::read_memory(void* target, const std::byte* source, std::uint64_t bytes)
{
    if (is_local_) [[likely]] {
        platform::copy_memory(target, source, bytes);
        return true;
    }
    auto* const here = static_cast<std::byte*>(target);
    return node_.peer_memory.copy({here, node_.own_process},
                                  place_of(const_cast<std::byte*>(source)),
                                  bytes) == transport::CopyOutcome::done;
}

inline void Driver::take_inbound(const transport::Frame& frame)
{
    const std::uint32_t sender = rank_.inbound.current_sender();
    node_.handlers[static_cast<std::size_t>(frame.kind)](*this, frame, sender);
    if (rank_.inbound.release()) [[unlikely]] {
        worker_.ring(node_.rank_state(sender));
    }
}

int Driver::take_due_frames()
{
    transport::delay::Curtain curtain(platform::monotonic_ns());
    transport::Frame frame;
    int taken = 0;
    while (taken < frames_a_sweep && rank_.inbound.poll(frame, curtain)) {
        take_inbound(frame);
        ++taken;
    }
    const std::int64_t due_ns = curtain.earliest_ns();
    rank_.due_ns = due_ns == transport::delay::Curtain::nothing_withheld ? 0 : due_ns;
    return taken;
}

/// Of a job that is not plain.
int Driver::take_other_frames()
{
    platform::scheduling_point();
    if (node_.schedule.withholds()) {
        return take_due_frames();
    }
    transport::Frame frame;
    int taken = 0;
    while (taken < frames_a_sweep && rank_.inbound.poll(frame)) {
        take_inbound(frame);
        ++taken;
    }
    return taken;
}

int Driver::take_frames()
{
    transport::Frame frame;
    int taken = 0;
    frames_out_of_turn_ = 0;
    if (!node_.is_plain) [[unlikely]] {
        taken = take_other_frames();
        rank_.has_left_frames = taken == frames_a_sweep;
    } else {
        // Who looks for one message and has it goes on with it: to take those behind it here would
        // copy them once more. Likewise who has nothing open after a long one: a burst of them
        // would keep a call that posts receives for as long as it lasts, and find no receive from
        // then on. And where ranks share cores, who is ahead in collectives is to wait for room in
        // his lane, and give his core away, rather than to fill this rank's memory: one frame of
        // each is kept. The next sweep begins at another lane.
        const bool is_expecting = expected_ != nullptr;
        const std::uint32_t frames_ahead_max =
            node_.is_oversubscribed ? node_.rank_count : frames_a_sweep;
        rank_.has_left_frames = true;
        frames_ahead_ = 0;
        do {
            if (!rank_.inbound.poll(frame)) {
                rank_.has_left_frames = false;
                break;
            }
            take_inbound(frame);
            ++taken;
        } while (taken < frames_a_sweep && frames_ahead_ < frames_ahead_max &&
                 (expected_ != nullptr) == is_expecting &&
                 (frame.payload_bytes <= node_.knobs.eager_limit || has_open_work()));
    }
    transport::self::Endpoint own{&rank_.loopback, &allocator()};
    while (taken < frames_a_sweep && own.poll(frame)) {
        node_.handlers[static_cast<std::size_t>(frame.kind)](*this, frame, rank_.rank);
        own.release();
        ++taken;
    }
    if (port_ != nullptr) [[unlikely]] {
        taken += take_distant_frames();
    }
    if (taken != 0) {
        count(rank_.counters.frames_received, static_cast<std::uint64_t>(taken));
    }
    return taken;
}

bool Driver::open_lane(std::uint32_t peer)
{
    const std::size_t ring_bytes = node_.lane_ring_bytes;
    void* place = allocator().allocate(transport::shm::Lane::bytes_needed(ring_bytes));
    if (place == nullptr) {
        return false;
    }
    auto* lane = new (place) transport::shm::Lane;
    lane->open(rank_.rank, ring_bytes, node_.lane_showing, node_.lane_reading);
    rank_.peers[peer].lane = lane;
    if (peer != rank_.rank) {
        (void)find_inbound(peer);
    }
    node_.rank_state(peer).inbound.join(lane);
    return true;
}

/// Notes the lane by which frames of a rank of this node come in, once it is there.
transport::shm::Lane* Driver::find_inbound(std::uint32_t sender)
{
    PeerSlot& slot = rank_.peers[sender];
    slot.inbound = rank_.inbound.lane_of(sender);
    if (slot.lane != nullptr && sender != rank_.rank) {
        slot.lane->answers = slot.inbound;
    }
    return slot.inbound;
}

base::Status Driver::post_now(std::uint32_t peer, transport::FrameKind kind,
                              transport::FrameHeader header, const void* payload,
                              std::size_t payload_bytes, Urgency urgency)
{
    if (tracer_ != nullptr) [[unlikely]] {
        return post_observed(peer, kind, header, payload, payload_bytes);
    }
    return transmit(peer, kind, header, payload, payload_bytes, urgency);
}

/// In an observed job. The time is taken before the frame can arrive.
base::Status Driver::post_observed(std::uint32_t peer, transport::FrameKind kind,
                                   transport::FrameHeader header, const void* payload,
                                   std::size_t payload_bytes)
{
    const std::uint64_t message_bytes = node_.messages.bytes_named(kind, payload, payload_bytes);
    if (message_bytes == no_message) {
        return transmit(peer, kind, header, payload, payload_bytes);
    }
    transport::FrameHeader numbered = header;
    number_message(*this, peer, &numbered);
    const std::int64_t posted_ns = platform::monotonic_ns();
    const base::Status status = transmit(peer, kind, numbered, payload, payload_bytes);
    if (status == base::Status::done) {
        record_posted(*this, peer, numbered, message_bytes, posted_ns);
    }
    return status;
}

/// In a job that is not plain.
base::Status Driver::post_to_lane(std::uint32_t peer, transport::FrameKind kind,
                                  transport::FrameHeader header, const void* payload,
                                  std::size_t payload_bytes)
{
    PeerSlot& slot = rank_.peers[peer];
    platform::scheduling_point();
    base::Status status = base::Status::done;
    if (node_.schedule.withholds()) {
        const std::int64_t due_ns =
            node_.schedule.due_ns(platform::monotonic_ns(), rank_.rank, peer, slot.order);
        status = transport::delay::post(*slot.lane, due_ns, kind, header, payload, payload_bytes);
        if (status == base::Status::done) {
            transport::delay::Schedule::note_posted(slot.order, due_ns);
        }
    } else {
        status = slot.lane->post(kind, header, payload, payload_bytes);
    }
    platform::scheduling_point();
    return status;
}

base::Status Driver::post_to_self(transport::FrameKind kind, transport::FrameHeader header,
                                  const void* payload, std::size_t payload_bytes)
{
    if (rank_.own_lane.lane != nullptr || lock_.is_enabled()) [[unlikely]] {
        return post_among_threads(kind, header, payload, payload_bytes);
    }
    return rank_.loopback.post(allocator(), kind, header, payload, payload_bytes);
}

base::Status Driver::try_post(std::uint32_t peer, transport::FrameKind kind,
                              transport::FrameHeader header, const void* payload,
                              std::size_t payload_bytes, Urgency urgency)
{
    if (!slot(peer).waiting.is_empty()) [[unlikely]] {
        return base::Status::retry_lane_full;
    }
    return post_now(peer, kind, header, payload, payload_bytes, urgency);
}

bool Driver::try_post_made(std::uint32_t peer, transport::FrameHeader header,
                           const transport::MadePayload& payload)
{
    if (!node_.is_plain || node_.is_distant(peer) || peer == rank_.rank || tracer_ != nullptr ||
        !is_local_ || !node_.rank_state(peer).takes_eager() ||
        !rank_.peers[peer].waiting.is_empty() ||
        (rank_.peers[peer].lane == nullptr && !open_lane(peer)) ||
        rank_.peers[peer].lane->post_made(transport::FrameKind::eager, header, payload) !=
            base::Status::done) {
        return false;
    }
    tell_posted(peer, transport::FrameKind::eager, header, payload.bytes, Urgency::by_kind);
    return true;
}

base::Status Driver::post_far_bytes(std::uint32_t peer, transport::FrameHeader header,
                                    const void* address, std::uint64_t size_bytes)
{
    std::byte here[config::eager_limit_max];
    if (!read_memory(here, static_cast<const std::byte*>(address), size_bytes)) {
        // The sender's buffer is not mapped; its owner finds that out with the same post.
        return base::Status::retry_no_memory;
    }
    return post_now(peer, transport::FrameKind::eager, header, here, size_bytes);
}

bool Driver::post_eager_op(Op* op)
{
    if (post_bytes(op->peer, op->header, op->address, op->size_bytes) != base::Status::done) {
        return false;
    }
    complete(op);
    return true;
}

/// False: no room. Requires: `op` is in no list. Once the frame is posted, an op that is not ours
/// to complete belongs to its receiver and may be gone.
bool Driver::post_op(Op* op)
{
    if (op->frame_kind == transport::FrameKind::eager) {
        // Whoever works for a rank of another process carries short ones only.
        const bool is_carried = is_local_ || op->size_bytes <= config::eager_limit_max;
        if (takes_eager(op->peer) && is_carried) [[likely]] {
            return post_eager_op(op);
        }
        node_.messages.make_offer(*this, op);
        count(rank_.counters.offers_for_room);
    }
    const bool is_control = op->kind == OpKind::control;
    if (post_now(op->peer, op->frame_kind, op->header, op->record, op->record_bytes) !=
        base::Status::done) {
        return false;
    }
    if (is_control) {
        if (op->is_open) {
            rank_.open_ops.remove();
        }
        destroy_op(op);
    }
    return true;
}

void Driver::post(Op* op)
{
    PeerSlot& target = slot(op->peer);
    if (target.waiting.is_empty()) {
        if (post_op(op)) {
            return;
        }
        target.next_waiting = rank_.peers_waiting;
        rank_.peers_waiting = &target;
        // Room comes when somebody takes frames out for the peer; a distant one's own process does.
        if (!node_.is_distant(op->peer)) {
            worker_.ring(node_.rank_state(op->peer));
        }
        if (op->peer == rank_.rank) {
            rank_.own_lane.gate.note_queued();
        }
    }
    target.waiting.push_back(op);
}

int Driver::post_waiting()
{
    int posted = 0;
    PeerSlot* slot = std::exchange(rank_.peers_waiting, nullptr);
    while (slot != nullptr) {
        PeerSlot* const next = slot->next_waiting;
        while (!slot->waiting.is_empty()) {
            Op* op = slot->waiting.first();
            slot->waiting.remove(op);
            if (!post_op(op)) {
                slot->waiting.push_front(op);
                break;
            }
            ++posted;
        }
        if (!slot->waiting.is_empty()) {
            slot->next_waiting = rank_.peers_waiting;
            rank_.peers_waiting = slot;
        } else if (slot == &rank_.peers[rank_.rank]) {
            rank_.own_lane.gate.note_all_posted();
        }
        slot = next;
    }
    return posted;
}

bool Driver::post_control(std::uint32_t peer, transport::FrameKind kind, const void* record,
                          std::size_t record_bytes, Urgency urgency)
{
    if (try_post(peer, kind, {}, record, record_bytes, urgency) == base::Status::done) {
        return true;
    }
    Op* op = create_op(OpKind::control);
    if (op == nullptr) {
        return false;
    }
    op->peer = peer;
    op->frame_kind = kind;
    op->record_bytes = static_cast<std::uint16_t>(record_bytes);
    std::memcpy(op->record, record, record_bytes);
    post(op);
    return true;
}

void Driver::abandon_op(Op* op)
{
    op->graph = nullptr;
    if (op->hang_trigger() == sync::AttachResult::already_complete) {
        destroy_op(op);
    }
}

}  // namespace headway::engine
