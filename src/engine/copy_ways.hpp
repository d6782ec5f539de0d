// SPDX-License-Identifier: Apache-2.0
//
// Which way the pieces of a copy job go, by what its two ranks do now (docs/design/013, 036):
// through slots of the sender, while the receiver empties them; read by the receiver; or copied by
// the system, half by each. None of it is agreed upon. Where two ranks decide differently for a
// while, pieces are taken by the same counters all the same.
//
// Thread rule of all: the executor of the driver's rank, which is one of the job's.
#pragma once

#include <cstdint>

#include "engine/copy_job.hpp"

namespace headway::engine {

/// Whether this process can copy at all: both ends must be in reach. Whose bytes are in neither
/// end's process here copies twice, so it leaves the work to a sender that waits for it. Any
/// thread.
bool is_ours_to_copy(Worker& worker, const CopyJob& job);

/// Whether only the receiver's process can copy pieces: it alone knows where they go. Any thread.
bool is_for_receiver(const CopyJob& job);

/// Whether a message of the driver's rank is one that is copied by the system where slots gain
/// nothing: where cores ask each other for each line, unless it is combined on arrival.
bool is_for_reading(Driver& driver, const CopyJob& job);

/// Whether the beginning of a message that the driver's rank has offered may be staged before it is
/// matched: not what is to be copied by the system, nor what may be for a receive of a rank that
/// computes, where copies by the system, to its buffer, do not wait for it.
bool may_stage_early(Driver& driver, const CopyJob& job);

/// Whether the driver's rank, which receives the message, has one to send too, as all ranks of an
/// exchange: through slots each of them would copy twice as much, and none of them waits.
bool is_read_in_exchange(Driver& driver, const CopyJob& job);

/// Whether pieces of this message may go through slots of the driver's rank, which sends it: the
/// receiver waits for them in another process. One that is on its way out of a call would be kept
/// there by them; but for pieces that the sender cannot move otherwise.
bool is_to_stage(Driver& driver, const CopyJob& job);

/// Whether the driver's rank, which receives the message, leaves it to its sender to stage the
/// pieces; not for long if none comes. One who is away may be between two calls.
bool leaves_to_sender(Driver& driver, const CopyJob& job);

/// What a rank's own hands take at once: all they may where each has a part of its own, or where
/// the other rank has as much to do (`is_in_exchange`). Else halves of what is left, which end
/// together where two copy, and the last pieces are small; so they are where one copies for an
/// other one that computes, for that may come back and find something to take. One piece at first:
/// who is only a moment late, as the other rank of an exchange, is to find this one free for slots,
/// not in a long copy.
std::uint64_t large_piece(const RankState& rank, const CopyJob& job, bool is_in_exchange);

/// From where a thread of `own`, or of none of the message's ranks, takes pieces first. Any thread.
PieceEnd end_for(const CopyJob& job, const RankState* own);

/// Decides, for a long message that the driver's rank is about to offer, `source` being where its
/// bytes are, between slots, two parts, one for each rank, and all of it for a receiver that waits:
/// by what the receiver told that these cost it (transport::shm::ReadingChoice). No number: slots.
transport::shm::ReadingAsked choose_reading(Driver& driver, const Op& send,
                                            const transport::Place& source);

/// The driver's rank, one of the message's, has copied a piece by the system, the receiver in so
/// many ticks. If the sender wants to know what the message costs, it is told what the receiver's
/// part did, or that one rank copied both.
void tell_reading(Driver& driver, const CopyJob& job, Piece piece,
                  transport::shm::ReadingTicks ticks);

}  // namespace headway::engine
