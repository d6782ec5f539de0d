// SPDX-License-Identifier: Apache-2.0
// Receives without an op: in line here, the message that is the next one of its sender.
#pragma once

#include <cstdint>

#include "data/type_program.hpp"
#include "engine/driver.hpp"
#include "platform/line_transfer.hpp"
#include "protocol/match.hpp"
#include "protocol/point_to_point.hpp"
#include "protocol/rank_part.hpp"

namespace headway::protocol {

/// context_of() for one that was not the last to be asked for. Ends the job where the heap has no
/// room for it.
MatchContext& find_context(engine::Driver& driver, std::uint32_t id);

inline MatchContext& context_of(engine::Driver& driver, std::uint32_t id)
{
    MatchContext* const recent = part_of(driver.rank()).match.recent();
    return recent != nullptr && recent->context() == id ? *recent : find_context(driver, id);
}

/// Puts bytes of the message, from byte `from` on, where the receive wants them.
inline void put(const engine::QuickReceive& receive, std::uint64_t from, std::uint64_t to,
                const std::byte* bytes, bool is_cached)
{
    if (receive.elements != nullptr) [[unlikely]] {
        data::unpack(*receive.elements, from, to, bytes);
    } else {
        platform::copy_arrived(receive.address + from, bytes, to - from, is_cached);
    }
}

/// False: the message is none for a receive without an op. `is_cached`: see transport::Frame.
inline bool deliver_quickly(engine::QuickReceive& receive, const transport::FrameHeader& header,
                            const std::byte* payload, std::uint64_t size_bytes,
                            bool is_cached = false)
{
    if (size_bytes > receive.size_bytes) [[unlikely]] {
        return false;
    }
    if (size_bytes > receive.early_bytes) {
        put(receive, receive.early_bytes, size_bytes, payload + receive.early_bytes, is_cached);
    }
    receive.matched = header;
    receive.status_bytes = size_bytes;
    receive.is_done = true;
    return true;
}

/// Whether the driver's thread looks for this message itself, and has it now. From then on it looks
/// for no more. Requires: the message is of no posted receive.
bool meets_expected(engine::Driver& driver, const transport::Frame& frame);

/// Delivers the bytes of an eager message to the receive that it matched. `is_cached`: likewise.
void deliver_eager(engine::Driver& driver, engine::Op* receive, transport::FrameHeader header,
                   const std::byte* payload, std::uint64_t size_bytes, bool is_cached = false);

/// The oldest frame of `way`, a lane or the loopback, that is for no receive of the context that is
/// posted; those before it go to the receives that they are for. False: there is none, or all lanes
/// have to be looked at before.
template <typename Way>
[[gnu::noinline]] bool peek_unposted(engine::Driver& driver, MatchContext& context, Way& way,
                                     transport::Frame& frame)
{
    while (way.peek(frame)) {
        engine::Op* const receive =
            frame.kind == transport::FrameKind::eager && frame.header.context == context.context()
                ? context.take_posted(frame.header)
                : nullptr;
        if (receive == nullptr) {
            return true;
        }
        deliver_eager(driver, receive, frame.header, frame.payload, frame.payload_bytes,
                      frame.is_cached);
        driver.release_frame(way, frame);
        if (!driver.may_pass_over()) {
            return false;
        }
    }
    return false;
}

/// Takes the oldest frame of `way` if it brings the message; what comes before it goes to the
/// receives that were posted for it. So in a window of receives only those are posted that the
/// sender has not caught up with. False: look for the message in the general way. Requires: no
/// message is kept that `receive` fits, and nothing is recorded.
template <typename Way>
[[gnu::always_inline]] inline bool take_oldest(engine::Driver& driver,
                                               engine::QuickReceive& receive, MatchContext& context,
                                               Way& way)
{
    transport::Frame frame;
    // What is peeked at is taken: behind a second look might be another one, for a posted receive.
    const bool is_there =
        context.has_posted() ? peek_unposted(driver, context, way, frame) : way.peek(frame);
    if (!is_there || frame.kind != transport::FrameKind::eager ||
        frame.header.context != receive.wanted.context || !fits(receive.wanted, frame.header) ||
        !driver.may_pass_over() ||
        !deliver_quickly(receive, frame.header, frame.payload, frame.payload_bytes,
                         frame.is_cached)) {
        return false;
    }
    driver.release_frame(way, frame);
    return true;
}

/// Takes the message of a receive that names its sender, where it is there already and the next
/// one, or only messages of earlier receives come before it. False: look for it in the general way.
/// Requires: nothing is recorded.
[[gnu::always_inline]] inline bool take_next(engine::Driver& driver, engine::QuickReceive& receive,
                                             std::uint32_t sender)
{
    MatchContext& context = context_of(driver, receive.wanted.context);
    if (context.find(receive.wanted) != nullptr) {
        return false;
    }
    engine::RankState& rank = driver.rank();
    // One of the two is in use.
    if (sender == rank.rank && rank.own_lane.lane == nullptr) {
        return take_oldest(driver, receive, context, rank.loopback);
    }
    transport::shm::Lane* const lane = driver.lane_from(sender);
    return lane != nullptr && take_oldest(driver, receive, context, *lane);
}

/// Whether messages are kept among which that of `receive` may be.
inline bool keeps_any(engine::Driver& driver, const engine::QuickReceive& receive)
{
    return context_of(driver, receive.wanted.context).keeps_messages();
}

/// What a receive says of the message that was taken.
inline void note_taken(engine::Op& op, const engine::QuickReceive& receive) noexcept
{
    op.header.sequence = receive.matched.sequence;  // by which the types of both sides are compared
    op.status_source = receive.matched.source;
    op.status_tag = receive.matched.tag;
    op.status_bytes = receive.status_bytes;
}

/// Posts a new op in the place of `receive`, which names `sender` and has found nothing.
inline void start_wanted(engine::Driver& driver, engine::Op* op,
                         const engine::QuickReceive& receive, std::uint32_t sender)
{
    op->header = receive.wanted;
    op->peer = sender;
    op->address = receive.address;
    op->size_bytes = receive.size_bytes;
    start_receive(driver, op);
}

/// Completes a new op with what was taken for it.
inline void complete_taken(engine::Driver& driver, engine::Op* op,
                           const engine::QuickReceive& receive)
{
    note_taken(*op, receive);
    driver.complete(op);
}

}  // namespace headway::protocol
