// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "platform/cpu.hpp"
#include "sync/mpsc_list.hpp"
#include "sync/op_word.hpp"
#include "transport/frame.hpp"

namespace headway::engine {

struct CopyJob;
struct RankState;
struct GraphInstance;
struct Op;

}  // namespace headway::engine

namespace headway::data {
struct TypedElements;
}  // namespace headway::data

namespace headway::engine {

/// What is kept of a message without a receive, where its bytes do not follow.
enum class KeptAs : std::uint8_t {
    message,
    distant_offer,  ///< offered by a rank of another node: its offer follows
    given_up,       ///< it does not come
};

/// A message that arrived before its receive, as it hangs in its receiver's lists. The bytes of an
/// eager one follow it; then the receiver owns it. For an offered one it is part of the sender's
/// op, which stays until a receive has taken the message: offers cost their receiver nothing, but
/// for those of other nodes, which are kept here.
/// Belongs to the receiving rank's executor.
struct Unexpected {
    Unexpected* next_in_bin = nullptr;
    Unexpected* previous_in_bin = nullptr;
    Unexpected* next_arrival = nullptr;
    Unexpected* previous_arrival = nullptr;
    transport::FrameHeader header;
    Op* offered = nullptr;  ///< the sender's op that has the bytes; null: they follow
    std::uint64_t message_bytes = 0;
    KeptAs kept_as = KeptAs::message;

    std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

enum class OpKind : std::uint8_t {
    send,     ///< a message of this rank
    receive,  ///< a message for this rank
    graph,    ///< a started collective: complete when all its nodes are
    control,  ///< a frame of a protocol that waits for room in a lane, or for its op's completion
    sync_object,  ///< complete when nothing attached to a sync object is open
    exchange,     ///< complete when a send and a receive are, each of another instance of the rank
};

/// Why an op failed; `object` turns it into an MPI error class.
enum class OpError : std::uint8_t {
    none,
    truncated,      ///< the message was longer than the receive buffer, which holds its beginning
    bad_address,    ///< a buffer is not mapped where the caller said
    no_memory,      ///< the node heap is exhausted
    user_function,  ///< a user-defined reduction could not run
    types_differ,   ///< sender and receiver name other types (HEADWAY_CHECK=messages)
    given_up,       ///< of a collective: a peer's part of it failed, so its message does not come
};

/// In the place of a node rank: none is named.
inline constexpr std::uint32_t any_peer = UINT32_MAX;

/// Whether the bytes of an op's message lie in elements with gaps.
enum class InElements : std::uint8_t {
    no,        ///< they lie at `address`
    possible,  ///< a receive: they go to `address` if they travel with their name, else as below
    yes,       ///< they lie in `elements`
};

/// One started operation; a request is its MPI face. In the node heap, so that whoever works for
/// the rank, or for its peer, can complete it.
///
/// The usual receive lives in the first two cache lines; what few ops need lies behind them and is
/// not set before it is needed.
///
/// Thread rule: fields belong to whoever holds the owner's ownership word, except `word` (atomic)
/// and what is said below.
struct alignas(platform::cache_line_bytes) Op {
    Op() noexcept {}  // NOLINT(modernize-use-equals-default): leaves the unions alone

    sync::OpWord word;

    // Links of the one list the op is in: a queue of posted receives, or of frames that wait for
    // room in a lane, or of ops to be used again.
    Op* next = nullptr;
    Op* previous = nullptr;

    // The message's bytes: an address of the owner's process, or in the node heap.
    std::byte* address = nullptr;
    std::uint64_t size_bytes = 0;

    transport::FrameHeader header;  ///< names the message; wildcards as the caller gave them
    /// Node rank of the receiver (send, control); of the sender, where a usual receive names it.
    std::uint32_t peer = any_peer;
    OpKind kind = OpKind::send;
    transport::FrameKind frame_kind = transport::FrameKind::none;
    /// Written before the word completes by whoever completes; read after.
    OpError error = OpError::none;
    bool is_cancelled = false;  ///< a node's op: its run was given up, and its bytes are dropped

    RankState* owner = nullptr;

    union {
        /// Of a receive: its place among the posted ones of its context; once its message has
        /// turned out to be too long, the message's bytes.
        std::uint64_t order = 0;
        CopyJob* copy_job;  ///< of a send: made with its offer (offer_copy); null: there is none
    };

    // The result of a receive. Written before the word completes, read after.
    std::int32_t status_source = 0;
    std::int32_t status_tag = 0;
    std::uint64_t status_bytes = 0;

    /// For the owner's process only: what the layers above hang on an op (its communicator).
    std::uint64_t owner_cookie = 0;
    /// Likewise: what must stay until the op is over (a user-defined operator).
    std::uint64_t owner_keep = 0;

    GraphInstance* graph = nullptr;  ///< whose node the op is
    std::uint32_t node = 0;
    std::uint16_t record_bytes = 0;
    /// Of a send set by its owner, of a receive by its owner and then by who matches it.
    InElements in_elements = InElements::no;
    /// Counted in the owner's open_ops until it is complete; a control op until it is posted.
    bool is_open = false;

    /// The op's own waiter, by which its completion goes on the owner's list of fired nodes. Set by
    /// hang_trigger().
    union {
        sync::Waiter trigger;
    };
    sync::ListLink fired;  ///< in the owner's list of completed graph nodes

    /// Payload of a frame that waits, for kinds whose payload is a record (offers, control):
    /// `record_bytes` of it.
    std::byte record[transport::inline_bytes_max];

    /// An offered message waits here for its receive. Set by the receiver.
    union {
        Unexpected arrival;
    };

    /// Where the bytes lie that may be in elements. For the owner's process only, and set only if
    /// `in_elements` says so. They stay until the op is over.
    union {
        const data::TypedElements* elements;
    };

    /// Makes an op that is over ready for another message of the same name, peer and buffer.
    /// Requires: complete, and its owner alone knows it.
    void start_again() noexcept
    {
        word.reset();
        error = OpError::none;
        is_open = false;
    }

    /// Requires: nothing hangs there.
    [[nodiscard]] sync::AttachResult hang_trigger() noexcept
    {
        new (&trigger) sync::Waiter{};
        trigger.kind = sync::WaiterKind::trigger;
        trigger.payload = reinterpret_cast<std::uintptr_t>(this);
        return word.attach(&trigger);
    }
};
static_assert(offsetof(Op, owner) == platform::cache_line_bytes);
static_assert(offsetof(Op, trigger) == 2 * platform::cache_line_bytes);

/// A receive that a thread makes without an op while it looks for the message itself. On that
/// thread's stack: only its own driver knows it (Driver::expect). It stands behind all receives
/// that are posted.
struct QuickReceive {
    transport::FrameHeader wanted;  ///< with wildcards as the caller gave them
    std::byte* address = nullptr;
    std::uint64_t size_bytes = 0;
    /// Where the bytes go instead of to `address`, unless it is null.
    const data::TypedElements* elements = nullptr;
    /// Bytes of the message that are in their place already.
    std::uint32_t early_bytes = 0;

    // The result.
    bool is_done = false;
    transport::FrameHeader matched = {};  ///< what the message is called
    std::uint64_t status_bytes = 0;
};

/// List of ops in order, linked by next and previous.
class OpList {
  public:
    bool is_empty() const noexcept { return first_ == nullptr; }
    Op* first() const noexcept { return first_; }

    void push_back(Op* op) noexcept
    {
        op->next = nullptr;
        op->previous = last_;
        (last_ != nullptr ? last_->next : first_) = op;
        last_ = op;
    }

    void push_front(Op* op) noexcept
    {
        op->next = first_;
        op->previous = nullptr;
        (first_ != nullptr ? first_->previous : last_) = op;
        first_ = op;
    }

    void remove(Op* op) noexcept
    {
        (op->previous != nullptr ? op->previous->next : first_) = op->next;
        (op->next != nullptr ? op->next->previous : last_) = op->previous;
    }

  private:
    Op* first_ = nullptr;
    Op* last_ = nullptr;
};

}  // namespace headway::engine
