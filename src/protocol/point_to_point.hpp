// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/driver.hpp"
#include "protocol/match.hpp"

namespace headway::protocol {

/// Connects the protocols of this library to a process's view of its node. Once, before use.
void register_protocols(engine::Node& node);

/// Makes the protocols' part of a rank. False: the heap is exhausted.
bool create_rank_part(engine::Driver& driver);

/// Whether long messages of this job may name elements with gaps as their bytes (Op::in_elements):
/// where frames are withheld, and over several nodes, they travel as one run of bytes.
bool carries_elements(engine::Driver& driver) noexcept;

/// Starts a send: eager up to the knob eager_limit, and up to eager_limit_inside where the receiver
/// is inside MPI, else by offer. `op` says header, peer, address and size. With `is_synchronous` it
/// completes only after its receive has matched.
void start_send(engine::Driver& driver, engine::Op* op, bool is_synchronous);

/// Whether the receiver of a long message, in another process, is about to take it. To copy that
/// twice, each rank once, is quicker then than to offer it and to copy it once (docs/design/033).
/// Not so where it had better be read instead (Driver::leaves_for_reading, docs/design/036).
bool is_about_to_take(engine::Driver& driver, std::uint32_t peer, std::uint64_t size_bytes,
                      engine::Sender sender);

/// Whether a message goes whole, its receive being there or not.
inline bool goes_whole(engine::Driver& driver, std::uint32_t peer, std::uint64_t size_bytes,
                       engine::Sender sender)
{
    return size_bytes <= driver.node().knobs.eager_limit ||
           is_about_to_take(driver, peer, size_bytes, sender);
}

/// Sends at once and without an op what fits a frame. False: an op is needed, nothing happened.
bool send_at_once(engine::Driver& driver, std::uint32_t peer, transport::FrameHeader header,
                  const void* address, std::uint64_t size_bytes, engine::Sender sender);

/// Receives a short message without an op: one that has arrived, or that arrives while the caller
/// looks for it, a microsecond or two where every rank has a core. `sender` is the node rank that
/// it comes from, or any_sender. False: it needs an op, and only bytes of the buffer that the
/// message will fill have changed.
bool receive_at_once(engine::Driver& driver, engine::QuickReceive& receive, std::uint32_t sender);
inline constexpr std::uint32_t any_sender = engine::any_peer;

/// Starts a receive. `op` says header (with wildcards), address and size of the buffer.
void start_receive(engine::Driver& driver, engine::Op* op);

/// start_receive() for later: the receive is posted by the next sweep, or when a message comes that
/// no posted one takes; a rank that waits for it before looks for the message at once, and then it
/// is never posted. So what a start costs does not keep the rank's own next message. Requires: a
/// name of which no other receive is started meanwhile, and no more than eager_limit bytes, which
/// come without anybody's help.
void start_receive_later(engine::Driver& driver, engine::Op* op);

/// For a rank that is about to wait for a started receive and has nothing else under way: looks for
/// its message as a receive without an op does, which is sooner than in sweeps, and copies what is
/// there of it while its sender writes. Where none comes soon, it is posted, as before; another
/// receive is left alone. Thread rule: the owner, with the rank's word.
void look_for_posted(engine::Driver& driver, engine::Op* op);

/// Takes a receive back that has not matched. True: it is cancelled and complete.
bool cancel_receive(engine::Driver& driver, engine::Op* op);

/// Drops what comes for the posted receives of a run of a graph; their number.
std::uint32_t withdraw_receives(engine::Driver& driver, std::uint32_t context,
                                const engine::GraphInstance* run);

/// Nothing that this rank owes its peers waits for room or is half sent.
bool is_quiet(engine::RankState& rank);

/// No receive is posted in that context, and no message kept.
bool is_unused(engine::Driver& driver, std::uint32_t context);

/// Gives back what the rank knows of a context that no communicator has any more, unless a message
/// of it was never received.
void forget_context(engine::Driver& driver, std::uint32_t context);

/// A message that `wanted` fits and that has arrived, still there to be received; null if none.
/// Looks only; the caller makes progress.
Unexpected* probe(engine::Driver& driver, const transport::FrameHeader& wanted);

/// Takes a message that probe() found out of the matching: only start_matched_receive() gets it.
void take(engine::Driver& driver, Unexpected* message);

/// Starts the receive of a message that take() took. `op` says address and size of the buffer.
void start_matched_receive(engine::Driver& driver, engine::Op* op, Unexpected* message);

}  // namespace headway::protocol
