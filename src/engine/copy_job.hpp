// SPDX-License-Identifier: Apache-2.0
//
// A long message on its way, as pieces that anybody may copy: the receiver, the sender, or a helper
// of either. In the node heap.
//
// Where no thread has both ends at hand, because the system lets no process into the other one or
// because an end lies in elements with gaps, which only their own process knows, all pieces go
// through slots of the sender: a thread of its process puts them there, one of the receiver's
// process takes them out.
//
// Life: made under the receiver's word when the message has matched; it hangs in the receiver's
// list while there are pieces nobody has taken, and an invitation goes to the sender. Each of them,
// and each thread that copies without a word in hand, holds a reference. Whoever copies the last
// piece completes both ops; whoever drops the last reference frees the job.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/op.hpp"
#include "sync/mpsc_list.hpp"
#include "transport/frame.hpp"
#include "transport/peer_memory.hpp"

namespace headway::engine {

class Driver;
class Worker;
struct RankState;
struct StagingSlot;

struct CopyJob {
    sync::ListLink invitation;        ///< in RankState::invitations of the sender; first member
    CopyJob* next = nullptr;          ///< in RankState::copies; the receiver's executor
    CopyJob* next_invited = nullptr;  ///< in RankState::invited; the sender's executor

    // Written before the job is known, read by all who copy.
    Op* send = nullptr;  ///< there until the last piece is copied, like `receive`
    Op* receive = nullptr;
    RankState* sender = nullptr;
    RankState* receiver = nullptr;
    transport::Place source;
    transport::Place target;
    std::uint64_t total_bytes = 0;
    std::uint64_t piece_bytes = 0;
    // Null: the bytes lie at the place's address. Else its process alone can read them.
    const data::TypedElements* source_elements = nullptr;
    const data::TypedElements* target_elements = nullptr;
    bool is_staged_only = false;  ///< all pieces go through slots of the sender

    /// Sweeps in which the receiver has left the pieces to a sender that waits too, since one came.
    /// Its executor's own.
    std::uint32_t sweeps_left_to_sender = 0;

    // First byte that nobody has taken. Written by all who copy.
    std::atomic<std::uint64_t> taken{0};
    // Bytes that are there. Written by all who copy.
    std::atomic<std::uint64_t> copied{0};
    std::atomic<std::uint32_t> references{1};
    std::atomic<std::uint32_t> error{0};  ///< an OpError; any of several

    bool has_elements() const noexcept
    {
        return source_elements != nullptr || target_elements != nullptr;
    }
    /// Relaxed: the exchange that takes a piece decides.
    bool has_pieces() const noexcept { return taken.load(std::memory_order_relaxed) < total_bytes; }
};

/// Makes the job of a matched message, hangs it into the driver's rank (the receiver) and invites
/// the sender. The ops say which bytes lie in elements; for the others the places hold. False: the
/// node heap is exhausted and nothing happened.
bool start_copy(Driver& driver, Op* receive, Op* send, transport::Place source,
                transport::Place target, std::uint64_t bytes);

/// Copies pieces of the driver's rank's messages, received and sent, until `bytes_max` are copied;
/// the bytes. A rank's own hands take up to eight pieces at once, half of what is left where the
/// other rank waits too: a call into the system costs as much as 16 KiB more in it. Requires: a
/// thread of the rank.
std::uint64_t copy_some(Driver& driver, std::uint64_t bytes_max);

/// How much of the copying a waiting thread takes on.
enum class CopyShare : std::uint8_t {
    own,  ///< what the rank sends to a receiver who is away is left: he may be back at once
    all,  ///< that too
    any,  ///< and what the rank receives from a sender that waits, too: nobody comes after it
};

/// Copies the next piece, as copy_some() would, or stages it: between processes whose ranks both
/// wait, the sender puts pieces into its slots and the receiver takes them out (take_piece). False
/// if there is none.
bool copy_next(Driver& driver, CopyShare share);

/// Part of a sweep: stages pieces of messages of the driver's rank that go no other way, and takes
/// out those that were kept for this process; the number of pieces.
int move_staged_only(Driver& driver);

/// Whether pieces of the driver's rank need a thread of its process: to be staged, there being
/// room, to be taken out, or to be copied between elements.
bool has_pieces_for_own_process(Driver& driver);

/// Handler of frames of kind piece.
void take_piece(Driver& driver, const transport::Frame& frame, std::uint32_t sender);

/// A job of the driver's rank with pieces to be taken, and a reference to it; null if there is
/// none that this process can copy. For who copies without the word in hand.
CopyJob* find_copy(Driver& driver);

/// Copies one piece, a large one where the message is to or from the worker's own rank, and drops
/// the reference. Requires no word.
void copy_outside(Worker& worker, CopyJob* job);

/// Whether the driver's rank has copies that it would leave to nobody if it went away: the other
/// rank of the message does not wait, by its looks. Lets go of those that need no hand any more.
bool has_unattended_copies(Driver& driver);

}  // namespace headway::engine
