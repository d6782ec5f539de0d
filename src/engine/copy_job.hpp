// SPDX-License-Identifier: Apache-2.0
//
// A long message on its way, as pieces that anybody may copy: the receiver, the sender, or a helper
// of either. In the node heap.
//
// Elements with gaps only their own process knows. Those of the receiver it reads the bytes to,
// those of the sender it writes them from, with lists of runs for the system. Where no thread has
// both ends at hand, because the system lets no process into the other one or because both ends
// have gaps, all pieces go through slots of the sender: a thread of its process puts them there,
// one of the receiver's process takes them out.
//
// Life: made under the receiver's word when the message has matched, or under the sender's when it
// is offered, so that a sender who waits can stage its beginning meanwhile. From the match on it
// hangs in the receiver's list while there are pieces nobody has taken, and an invitation goes to
// the sender. Each of them, each thread that copies without a word in hand, and the message until
// its last byte is counted, hold a reference; pieces on their way need none. Whoever counts the
// last byte completes both ops; whoever drops the last reference frees the job.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/combination.hpp"
#include "engine/op.hpp"
#include "platform/cpu.hpp"
#include "sync/mpsc_list.hpp"
#include "transport/peer_memory.hpp"
#include "transport/shm/reading_choice.hpp"

namespace headway::engine {

class Driver;
class Worker;
struct RankState;
struct StagingSlot;

struct CopyJob;

/// A part of a message that nobody else copies; of no bytes where nothing was left.
struct Piece {
    std::uint64_t from = 0;
    std::uint64_t bytes = 0;
};

/// From where pieces of a job are taken first.
enum class PieceEnd : std::uint8_t { front, back };

struct CopyLinks {
    CopyJob* next = nullptr;
    CopyJob* previous = nullptr;
};

/// Each part on lines of its own, as both ranks use the job at the same time.
struct alignas(platform::cache_line_bytes) CopyJob {
    sync::ListLink invitation;  ///< in RankState::invitations of the sender; first member

    // Written before the job is known, read by all who copy.
    /// There until the last piece is copied, like `receive`. Null: the receiver reads a place that
    /// its peer has published.
    Op* send = nullptr;
    RankState* sender = nullptr;
    RankState* receiver = nullptr;
    transport::Place source;
    std::uint64_t total_bytes = 0;
    std::uint64_t piece_bytes = 0;
    /// Where the second of two parts begins, or total_bytes. Where there are two, the rank with the
    /// higher number takes pieces of the second part first, the other one of the first: ranks that
    /// copy one each copy the same bytes each time the message is sent, and sent back, which their
    /// caches may hold then.
    std::uint64_t second_part = 0;
    /// What the sender wants to know of the receiver's part, and which way it has chosen.
    transport::shm::ReadingAsked asked;
    /// Null: the bytes lie at the place's address. Else its process alone can read them.
    const data::TypedElements* source_elements = nullptr;

    // Written by the receiver's executor when the message matches. Read by it from then on, and by
    // others who have the job from the receiver's list, or from its invitation.
    alignas(platform::cache_line_bytes) Op* receive = nullptr;
    transport::Place target;
    std::uint64_t room_bytes = 0;  ///< of the target: what is behind them goes nowhere
    const data::TypedElements* target_elements = nullptr;
    Combination combination;  ///< of what arrives with what the receiver has
    /// Only the sender's process can move pieces: into its slots or, where the receiver is away,
    /// straight to the target.
    bool is_staged_only = false;
    std::atomic<std::uint32_t> error{0};  ///< an OpError; any of several

    // Bytes of each part that somebody has taken, or more. Written by all who copy, most of all by
    // a sender who stages.
    alignas(platform::cache_line_bytes) std::atomic<std::uint64_t> taken[2] = {};
    // In RankState::offered, then in one of the lists of what it was invited to, and the rest here;
    // the sender's executor.
    CopyLinks of_sender;
    std::uint32_t early_pieces = 0;  ///< staged before the invitation came
    bool is_offered = false;         ///< in RankState::offered
    // Whether the invitation has come: what holds a slot until then may hold it for long. Written
    // by the sender's executor, read by it; relaxed, and atomic as a slot may name a job that has
    // been freed since its piece was taken out.
    std::atomic<bool> is_invited{false};

    // Bytes that are dealt with, and one for the match. Written by all who copy, most of all by a
    // receiver who takes pieces out.
    alignas(platform::cache_line_bytes) std::atomic<std::uint64_t> counted{0};
    // Of the message until it ends, of both ranks' lists, and of who copies without a word in hand.
    std::atomic<std::uint32_t> references{2};
    // In RankState::copies, and the rest here; the receiver's executor.
    CopyLinks of_receiver;
    StagingSlot* early = nullptr;  ///< staged pieces that came before the match
    bool is_matched = false;

    bool has_elements() const noexcept
    {
        return source_elements != nullptr || target_elements != nullptr;
    }
    /// Whether only threads of the receiver's process can take what arrives.
    bool has_target_of_its_own() const noexcept
    {
        return target_elements != nullptr || combination.is_there();
    }
    bool has_two_parts() const noexcept { return second_part != total_bytes; }
    /// Takes the next piece of `wanted` bytes, fewer at the end of a part.
    Piece take(std::uint64_t wanted, PieceEnd first = PieceEnd::front) noexcept
    {
        for (const std::size_t part :
             {first == PieceEnd::front ? 0U : 1U, first == PieceEnd::front ? 1U : 0U}) {
            const std::uint64_t part_bytes = bytes_of(part);
            // Relaxed: pieces are disjoint, and what they hold was published with the job. Looked
            // at first, so that the count stays in its range however often somebody asks.
            if (taken[part].load(std::memory_order_relaxed) >= part_bytes) {
                continue;
            }
            const std::uint64_t from = taken[part].fetch_add(wanted, std::memory_order_relaxed);
            if (from < part_bytes) {
                return {(part == 0 ? 0 : second_part) + from, std::min(wanted, part_bytes - from)};
            }
        }
        return {};
    }
    /// Bytes that nobody has taken. Relaxed: the exchange that takes a piece decides.
    std::uint64_t left() const noexcept { return left_of(0) + left_of(1); }
    bool has_pieces() const noexcept { return left() != 0; }
    /// Of a piece, what the receive has room for. Requires: matched.
    std::uint64_t fitting(std::uint64_t from, std::uint64_t bytes) const noexcept
    {
        return from < room_bytes ? std::min(bytes, room_bytes - from) : 0;
    }

  private:
    std::uint64_t bytes_of(std::size_t part) const noexcept
    {
        return part == 0 ? second_part : total_bytes - second_part;
    }
    std::uint64_t left_of(std::size_t part) const noexcept
    {
        const std::uint64_t bytes = bytes_of(part);
        return bytes - std::min(bytes, taken[part].load(std::memory_order_relaxed));
    }
};

/// Jobs in order, linked by one of their pairs of links. Thread rule: the executor of the rank
/// whose list it is.
template <CopyLinks CopyJob::* links>
class CopyList {
  public:
    bool is_empty() const noexcept { return first_ == nullptr; }
    CopyJob* first() const noexcept { return first_; }
    static CopyJob* after(const CopyJob* job) noexcept { return (job->*links).next; }
    std::uint32_t size() const noexcept { return size_; }
    /// Of all messages that have been here since the list was empty: one stream, by its looks.
    std::uint64_t bytes_since_empty() const noexcept { return bytes_since_empty_; }

    void push_back(CopyJob* job) noexcept
    {
        bytes_since_empty_ += job->total_bytes;
        link_last(job);
    }

    /// Moves the first job behind the others.
    void turn() noexcept
    {
        if (first_ != last_) {
            CopyJob* const job = first_;
            remove(job);
            link_last(job);
        }
    }

    void remove(CopyJob* job) noexcept
    {
        const CopyLinks at = job->*links;
        (at.previous != nullptr ? (at.previous->*links).next : first_) = at.next;
        (at.next != nullptr ? (at.next->*links).previous : last_) = at.previous;
        --size_;
        if (first_ == nullptr) {
            bytes_since_empty_ = 0;
        }
    }

  private:
    void link_last(CopyJob* job) noexcept
    {
        job->*links = {nullptr, last_};
        (last_ != nullptr ? (last_->*links).next : first_) = job;
        last_ = job;
        ++size_;
    }

    CopyJob* first_ = nullptr;
    CopyJob* last_ = nullptr;
    std::uint32_t size_ = 0;
    std::uint64_t bytes_since_empty_ = 0;
};

using CopiesOfReceiver = CopyList<&CopyJob::of_receiver>;
using CopiesOfSender = CopyList<&CopyJob::of_sender>;

/// Makes the job of a message that the driver's rank is about to offer, `source` being where its
/// bytes are, so that its own waits can stage the beginning of it before it is matched, or copy
/// their part if `asked`, as choose_reading() gave it, says that it has two. Nothing happens where
/// that would gain nothing, or there are many such messages already, or no memory.
void offer_copy(Driver& driver, Op* send, transport::Place source,
                transport::shm::ReadingAsked asked);

/// Whether a message of the driver's rank may have a job before it is matched.
bool may_offer_copy(Driver& driver, const Op& send, const transport::Place& source);

/// Begins to copy a matched message of `bytes`, or as many as the receive has room for: its job, of
/// offer_copy() or made now, hangs in the driver's rank (the receiver), and the sender is invited.
/// The ops say which bytes lie in elements; for the others the places hold. `kind`: alone, if the
/// message was left to a receiver that waits, but found none. False: the node heap is exhausted and
/// nothing happened; never so where there is a job (Op::copy_job).
bool start_copy(Driver& driver, Op* receive, Op* send, transport::Place source,
                transport::Place target, std::uint64_t bytes, transport::shm::Readable kind);

/// Begins to copy what lies at `source`, a place that a rank of this node has published, to where
/// `receive` says, as if the peer had sent it; combined with what is there if so said. The bytes
/// stay until the op is over. False: the node heap is exhausted and nothing happened.
bool start_peer_copy(Driver& driver, Op* receive, RankState& peer, transport::Place source,
                     const Combination& combination);

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
/// wait, the sender puts pieces into its slots and the receiver takes them out (take_piece), the
/// first ones before the message is matched. False if there is none.
bool copy_next(Driver& driver, CopyShare share);

/// Takes in the jobs that the driver's rank, as their sender, was invited to since it did so last.
void take_invitations(Driver& driver);

/// Whether pieces of the driver's rank need a thread of its process: to be staged, there being
/// room, to be taken out, or to be copied between elements.
bool has_pieces_for_own_process(Driver& driver);

/// A job of the driver's rank with pieces to be taken, and a reference to it; null if there is
/// none that this process can copy. For who copies without the word in hand.
CopyJob* find_copy(Driver& driver);

/// Copies one piece, a large one where the message is to or from the worker's own rank, and drops
/// the reference. Requires no word.
void copy_outside(Worker& worker, CopyJob* job);

/// Whether the driver's rank has copies that it would leave to nobody if it went away: the other
/// rank of the message does not wait, by its looks. Lets go of those that need no hand any more.
/// `may_ring`: a sender that is in a call is rung instead, so that it looks at its invitations
/// before it leaves. Not again by one who was rung himself meanwhile: two that leave at the same
/// time would ring each other for ever.
bool has_unattended_copies(Driver& driver, bool may_ring = false);

}  // namespace headway::engine
