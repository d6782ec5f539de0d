// SPDX-License-Identifier: Apache-2.0
// Receives without an op, in line: the message that is the next one of its sender.
#pragma once

#include <cstdint>

#include "engine/driver.hpp"
#include "platform/short_copy.hpp"
#include "protocol/match.hpp"
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

/// False: the message is none for a receive without an op.
inline bool deliver_quickly(engine::QuickReceive& receive, const transport::FrameHeader& header,
                            const std::byte* payload, std::uint64_t size_bytes)
{
    if (size_bytes > receive.size_bytes) [[unlikely]] {
        return false;
    }
    if (size_bytes > receive.early_bytes) {
        platform::copy_short(receive.address + receive.early_bytes, payload + receive.early_bytes,
                             size_bytes - receive.early_bytes);
    }
    receive.status_source = header.source;
    receive.status_tag = header.tag;
    receive.status_bytes = size_bytes;
    receive.is_done = true;
    return true;
}

/// Delivers the bytes of an eager message to the receive that it matched.
void deliver_eager(engine::Driver& driver, engine::Op* receive, transport::FrameHeader header,
                   const std::byte* payload, std::uint64_t size_bytes);

/// Takes frames of `way`, a lane or the loopback, up to the one that brings the message; what comes
/// before it goes to the receives that were posted for it. So in a window of receives only those
/// are posted that the sender has not caught up with. False: look for the message in the general
/// way. Requires: no message is kept that `receive` fits, and nothing is recorded.
template <typename Way>
[[gnu::always_inline]] inline bool take_oldest(engine::Driver& driver,
                                               engine::QuickReceive& receive, MatchContext& context,
                                               Way& way)
{
    transport::Frame frame;
    while (way.peek(frame) && frame.kind == transport::FrameKind::eager &&
           frame.header.context == receive.wanted.context && driver.may_pass_over()) {
        engine::Op* const earlier = context.take_posted(frame.header);
        if (earlier != nullptr) {
            deliver_eager(driver, earlier, frame.header, frame.payload, frame.payload_bytes);
        } else if (!fits(receive.wanted, frame.header) ||
                   !deliver_quickly(receive, frame.header, frame.payload, frame.payload_bytes)) {
            return false;
        }
        driver.release_frame(way, frame);
        if (earlier == nullptr) {
            return true;
        }
    }
    return false;
}

/// Takes the message of a receive that names its sender, where it is there already and the next
/// one, or only messages of earlier receives come before it. False: look for it in the general way.
/// Requires: nothing is recorded.
[[gnu::always_inline]] inline bool take_next(engine::Driver& driver, engine::QuickReceive& receive,
                                             std::uint32_t sender)
{
    MatchContext& context = context_of(driver, receive.wanted.context);
    if (context.keeps_messages() && context.find(receive.wanted) != nullptr) {
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

/// Completes a new op with what was taken for it.
inline void complete_taken(engine::Driver& driver, engine::Op* op,
                           const engine::QuickReceive& receive)
{
    op->status_source = receive.status_source;
    op->status_tag = receive.status_tag;
    op->status_bytes = receive.status_bytes;
    driver.complete(op);
}

}  // namespace headway::protocol
