// SPDX-License-Identifier: Apache-2.0
//
// Messages that came before their receive, and what a rank keeps of them: the bytes of those that
// travel unasked, for the others where they are.
#pragma once

#include <cstdint>

#include "engine/driver.hpp"
#include "protocol/match.hpp"
#include "protocol/offer.hpp"

namespace headway::protocol {

/// Nothing can be done for a message that has left its sender and finds no place here.
[[noreturn]] void no_room_for_messages(engine::Driver& driver);

/// Counts what the rank holds, in bytes of the heap's blocks, and tells senders when it is full
/// and when it has room again; the gap between the two keeps them from changing their mind with
/// every message.
void count_unexpected(engine::Driver& driver, std::uint64_t change);

/// Each of these ends the job where the heap has no room for the message.
void keep_eager(engine::Driver& driver, MatchContext& context, const transport::Frame& frame);
void keep_given_up(engine::Driver& driver, MatchContext& context, transport::FrameHeader header);
void keep_distant(engine::Driver& driver, MatchContext& context, transport::FrameHeader header,
                  const KeptOffer& kept);

/// Keeps it in its sender's op, which needs no room.
void keep_offer(engine::Driver& driver, MatchContext& context, transport::FrameHeader header,
                const Offer& offer);

/// Takes in the bytes of a message that was offered for reading, as if it had come through the
/// lane, and completes its sender's op. False, and nothing happened, where the rank has no room for
/// it, or it is a long one (Readable::alone), or cannot be read.
bool take_in(engine::Driver& driver, MatchContext& context, transport::FrameHeader header,
             const Offer& offer);

/// Frees what was kept, but for an offer, once its receive has it. Requires: it is out of its
/// context.
void forget_kept(engine::Driver& driver, Unexpected* message);

}  // namespace headway::protocol
