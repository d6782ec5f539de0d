// SPDX-License-Identifier: Apache-2.0
//
// Pieces of copy jobs that go through slots of the sender (docs/design/013): put there by a thread
// of the sender's process, taken out by one of the receiver's, or by whoever may write into its
// memory. A sender that waits stages the beginning of a message before it is matched; such pieces
// hang in the job until then.
#pragma once

#include <cstdint>

#include "engine/copy_job.hpp"
#include "transport/frame.hpp"

namespace headway::engine {

/// Stages the next piece of a job of the driver's rank, of `bytes_max` at most; its bytes. 0: there
/// is no piece, or no slot for it, or the rank's slots cannot be made. Requires: the message is
/// matched, and crosses().
std::uint64_t try_stage(Driver& driver, CopyJob* job, std::uint64_t bytes_max);

/// Stages the next piece of the oldest message that the driver's rank has offered to a receiver in
/// MPI, if few such pieces wait to be matched. Requires: a thread of the rank.
bool stage_early(Driver& driver);

/// Part of a sweep: stages pieces of messages of the driver's rank that only its process can move,
/// or writes them where their receiver is away, and takes out those that were kept; the number of
/// pieces. Copies no more than the knob copy_at_once, or one piece of each sort.
int move_staged_only(Driver& driver);

/// Takes out pieces that were kept, until `bytes_max` are copied; the bytes. A helper of another
/// process leaves those that only the rank's own can take.
std::uint64_t deliver_kept(Driver& driver, std::uint64_t bytes_max);

/// Takes pieces that were kept and that any process can take out off the driver's rank's list, for
/// deliver_outside(): one, or a few that the worker's own rank has sent, which waits for them.
StagingSlot* take_kept(Driver& driver);

/// Takes them out. Requires no word: their message is not over before they are.
void deliver_outside(Worker& worker, StagingSlot* taken);

/// Hangs the pieces that came before the match among those that the driver's rank keeps.
void keep_early_pieces(Driver& driver, CopyJob* job);

/// Whether a kept piece needs a thread of the rank's process, or one that anybody may take out.
bool keeps_pieces(const RankState& rank, bool for_own_process);

/// Whether the driver's rank has pieces that go no other way, and a slot for one; if it is the slot
/// that lacks, whoever empties one rings. To be asked before the rank is left alone.
bool has_to_stage(Driver& driver);

/// Handler of frames of kind piece: takes the piece out, or keeps it where its message is not
/// matched or where it is for others to take out.
void take_piece(Driver& driver, const transport::Frame& frame, std::uint32_t sender);

}  // namespace headway::engine
