// SPDX-License-Identifier: Apache-2.0
//
// Long messages. The receiver has the sender's offer and fetches the bytes the best way that holds
// for the pair: a plain copy where it can address them, one copy across processes where the system
// allows it, else through slots in the node heap that the sender fills and the receiver empties
// (engine/copy_job.hpp).
// Where frames are delayed, as on a network, he asks for the bytes instead, the sender writes them,
// and a last frame says that they are there. Between nodes see distant.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/driver.hpp"
#include "protocol/offer.hpp"

namespace headway::protocol {

/// Fetches an offered message into a matched receive. Completes both ops, now or later.
void pull(engine::Driver& driver, engine::Op* receive, const transport::FrameHeader& header,
          const Offer& offer);

/// Copies the first bytes of an offered message to memory of the driver's process, by one call of
/// the system where they are another one's, and tells the sender what that has cost if he wants to
/// know. Leaves the ops alone.
transport::CopyOutcome read_whole(engine::Driver& driver, std::byte* target, const Offer& offer,
                                  std::uint64_t bytes);

/// Whether the driver's thread reads a message as it comes that was offered for that: its own
/// rank's, as long as a copy out of the lane would have been, or any if it waits.
inline bool may_read_now(engine::Driver& driver, const Offer& offer) noexcept
{
    return offer.reading.number != 0 && driver.is_owner() && !driver.lock().is_shared() &&
           (offer.reading.kind == transport::shm::Readable::whole || driver.is_waiting());
}

/// What a receive says of the message that it has matched; how many of its bytes fit.
inline std::uint64_t note_match(engine::Op* receive, const transport::FrameHeader& header,
                                std::uint64_t message_bytes)
{
    const std::uint64_t bytes = std::min(message_bytes, receive->size_bytes);
    receive->header.sequence = header.sequence;  // by which a trace names the message
    receive->status_source = header.source;
    receive->status_tag = header.tag;
    receive->status_bytes = bytes;
    if (message_bytes > bytes) {
        receive->error = engine::OpError::truncated;
        receive->order = message_bytes;
    }
    return bytes;
}

/// A receive of a call that is about to return, and that needs more of this rank's CPU.
void keep_open(engine::Driver& driver, engine::Op* receive);

/// Handler of clear_to_send: the receiver of one of this rank's offers says where its bytes are to
/// go.
void take_clear_to_send(engine::Driver& driver, const transport::Frame& frame,
                        std::uint32_t sender);

/// Handler of delivered: the bytes of a receive are there.
void take_delivered(engine::Driver& driver, const transport::Frame& frame, std::uint32_t sender);

/// Posts the delivered of a copy that is done.
void post_answer(engine::Driver& driver, engine::Op* delivered);

}  // namespace headway::protocol
