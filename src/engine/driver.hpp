// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "base/status.hpp"
#include "engine/node.hpp"
#include "engine/rank_lock.hpp"
#include "engine/rank_state.hpp"
#include "engine/worker.hpp"
#include "transport/delay/delayed.hpp"

namespace headway::engine {

class Siblings;

/// Whether others have to work for a receiver who computes when a frame comes.
enum class Urgency : std::uint8_t {
    by_kind,      ///< what needs_receiver() says: they have to
    at_its_call,  ///< the receiver takes it in a call that blocks, or the poster rings later
};

/// What a rank does that leaves a message to be read.
enum class Sender : std::uint8_t {
    is_kept,    ///< its call returns when the message has been read
    goes_on,    ///< its call returns at once
    exchanges,  ///< it waits for messages of others in any case
};

/// What a worker does for one rank with the rank's ownership word in hand: the rank's own threads,
/// or a helper in this or another process. The only caller of transports.
///
/// Thread rule: the holder of the rank's ownership word; with several threads in a rank, under its
/// RankLock.
class alignas(64) Driver {
  public:
    enum class Role : std::uint8_t {
        owner,   ///< a thread of the rank, inside the library
        helper,  ///< anybody else: user code is not his to run
    };

    Driver(Worker& worker, RankState& rank, RankLock& lock, Role role = Role::owner)
        : worker_(worker),
          node_(worker.node()),
          rank_(rank),
          lock_(lock),
          role_(role),
          is_local_(role == Role::owner || rank.process == worker.node().own_process),
          port_(node_.network != nullptr && is_local_ ? &node_.network->port(rank.job_rank)
                                                      : nullptr),
          tracer_(worker.tracer())
    {
    }
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    Worker& worker() noexcept { return worker_; }
    Node& node() noexcept { return node_; }
    bool is_owner() const noexcept { return role_ == Role::owner; }
    /// The rank's memory is this process's: its addresses can be used as they are.
    bool is_local() const noexcept { return is_local_; }
    RankState& rank() noexcept { return rank_; }
    RankLock& lock() noexcept { return lock_; }
    /// The other instances of the rank, which its threads look after, too. Null: there are none, or
    /// this is a helper's.
    Siblings* siblings() noexcept { return siblings_; }
    void join_siblings(Siblings& siblings) noexcept { siblings_ = &siblings; }
    /// The rank's way to ranks of other nodes; null in a job of one node.
    transport::Port* port() noexcept { return port_; }
    /// Null: nothing is recorded.
    observe::Tracer* tracer() noexcept { return tracer_; }
    /// See start_observing() and stop_observing().
    void start_recording(observe::Tracer& tracer) noexcept
    {
        tracer_ = &tracer;
        worker_.start_recording(tracer);
    }
    void stop_recording() noexcept
    {
        tracer_ = nullptr;
        worker_.stop_recording();
    }
    memory::Allocator& allocator() { return node_.allocator(rank_.rank); }

    /// What the rank keeps for a peer. Ends the job where the node heap has no room for it.
    PeerSlot& slot(std::uint32_t peer)
    {
        return node_.is_distant(peer) ? distant_slot(peer) : rank_.peers[peer];
    }

    /// Whether frames to other nodes need somebody to poll until they are out.
    bool has_unsent() const noexcept
    {
        return port_ != nullptr && (port_->has_unsent() || port_->has_held());
    }
    /// Before threads of the rank leave that will not look soon: the watch sends what the network
    /// has held back, a little later, or this thread now, where there is no watch. False: not all
    /// of it has left, and nobody will see to it.
    bool leave_held();
    /// Bytes on their way that nobody hears of until they are all there: see Port.
    std::uint64_t bytes_under_way() const noexcept
    {
        return port_ != nullptr ? port_->bytes_under_way() : 0;
    }
    /// Before the rank goes away: looks whether what was sent has ended by now, as over most
    /// providers a short message has. True: somebody has to poll for it still.
    bool keeps_unsent();
    /// Port::settle(), after which ranks of this process that it has taken something in for are
    /// rung. Requires: there is a network.
    bool settle_network();
    /// Before the rank sleeps or goes away: from now on the watch of this process hears of frames
    /// from other nodes. False: there may be some already, sweep again.
    bool listen();
    /// The same before the rank goes away, perhaps for the time between two calls: the watch hears
    /// of them from a little later on.
    bool listen_soon();
    /// How long a sleeping rank may rely on being woken: the moment at which it has to look by
    /// itself, 0 if others see to it. Requires listen().
    std::int64_t look_again_ns() const noexcept;

    /// One sweep over everything that can move for this rank; the number of events, 0 if nothing
    /// did. Copies no long messages. Never blocks, never recurses.
    int progress();

    /// The same for who leaves the library, and may be back at once: the network, which tells of
    /// what comes by itself, is looked at only where that was not done just before.
    int progress_in_passing();

    /// Whether the rank has work that others may have to do while it computes.
    bool has_open_work() const noexcept
    {
        return rank_.open_ops.are_any() || rank_.peers_waiting != nullptr;
    }
    /// Whether the rank leaves its word free for that, or for a thread that sleeps elsewhere.
    bool leaves_word_free() const noexcept
    {
        return rank_.open_ops.leave_word_free() || rank_.peers_waiting != nullptr;
    }

    /// Whether the driver's thread waits in the call that it is in, and so has time for long
    /// copies. Of a rank with several threads it may be another one that does.
    bool is_waiting() const noexcept { return is_waiting_; }

    /// Whether a message of `bytes` to a rank of another process had better be offered for reading
    /// than written into their lane (docs/design/036): to one who waits, or where that does not
    /// keep the sender.
    bool leaves_for_reading(std::uint32_t peer, std::uint64_t bytes, Sender sender);
    /// Ticks that it lately took to write so many bytes into their lane; 0: not known. Requires: a
    /// peer of another process on this node.
    std::uint64_t writing_ticks(std::uint32_t peer, std::uint64_t bytes) const;

    /// A receive that takes its message while the caller polls. Null: no more. See QuickReceive.
    void expect(QuickReceive* receive) noexcept { expected_ = receive; }
    QuickReceive* expected() const noexcept { return expected_; }
    /// The first part of a sweep: takes frames and does nothing else; their number.
    int poll_frames() { return take_frames(); }
    /// Whether nothing but frames can move for this rank.
    bool has_only_frames() const noexcept
    {
        return rank_.peers_waiting == nullptr && rank_.fired.is_empty() &&
               rank_.stalled_graphs == nullptr && rank_.owner_graphs == nullptr &&
               rank_.copies.is_empty() && !has_staged_only();
    }

    /// Whether move_staged_only() may find something.
    bool has_staged_only() const noexcept
    {
        return !rank_.invited_to_stage.is_empty() || rank_.kept_pieces != nullptr ||
               !rank_.invitations.is_empty();
    }

    /// What a call does that makes progress and does not block: a sweep, and of long messages no
    /// more than the knob copy_at_once; all of them where nobody else would do it.
    void advance();

    /// An address of the rank's memory as a place that other processes can use.
    transport::Place place_of(std::byte* address) const noexcept
    {
        if (node_.heap->contains(address)) {
            return {address, transport::Place::everywhere};
        }
        return {address, is_local_ ? node_.own_process : rank_.process};
    }

    /// Copies between the rank's memory and this process's, whoever the worker is. False: the
    /// rank's address is not mapped there.
    /// `is_cached`: see transport::Frame.
    bool write_memory(std::byte* target, const void* source, std::uint64_t bytes,
                      bool is_cached = false);
    bool read_memory(void* target, const std::byte* source, std::uint64_t bytes);

    /// Posts a frame at once if the lane has room and nothing waits before it.
    base::Status try_post(std::uint32_t peer, transport::FrameKind kind,
                          transport::FrameHeader header, const void* payload,
                          std::size_t payload_bytes, Urgency urgency = Urgency::by_kind);

    /// Posts a whole message at once. False, and nothing happened, where it is too long, its
    /// receiver takes no eager messages now, or its frame finds no room.
    bool try_post_eager(std::uint32_t peer, transport::FrameHeader header, const void* address,
                        std::uint64_t size_bytes);

    /// Likewise, a message as long as a frame may be, whatever the limit. Requires, above the
    /// limit: a plain job, and a thread of the rank.
    bool try_post_whole(std::uint32_t peer, transport::FrameHeader header, const void* address,
                        std::uint64_t size_bytes, Urgency urgency = Urgency::by_kind);

    /// Likewise, a message that is made in its place in the lane to a peer of this node, at most
    /// eager_limit bytes and more than a line has room for. False also where frames do not go
    /// straight into lanes.
    bool try_post_made(std::uint32_t peer, transport::FrameHeader header,
                       const transport::MadePayload& payload);

    /// The lane by which frames of a rank of this node come in; null: there is none yet, or frames
    /// of that rank may come by another way or later.
    transport::shm::Lane* lane_from(std::uint32_t sender)
    {
        if (node_.is_distant(sender) || !node_.is_plain) [[unlikely]] {
            return nullptr;
        }
        transport::shm::Lane* const lane = rank_.peers[sender].inbound;
        return lane != nullptr ? lane : find_inbound(sender);
    }

    /// The frame at hand is of a member who is ahead of this one in a collective, and was kept.
    void note_frame_ahead() noexcept { ++frames_ahead_; }

    /// Whether a frame may be taken out of turn, from the one lane that the caller looks at; now
    /// and then he has to look at all of them (poll_frames).
    bool may_pass_over() noexcept { return ++frames_out_of_turn_ < frames_a_sweep; }

    /// Gives a frame back that the caller has peeked at and taken in.
    void release_frame(transport::shm::Lane& lane, const transport::Frame& frame)
    {
        if (lane.consume(frame)) [[unlikely]] {
            worker_.ring(node_.rank_state(lane.sender));
        }
        count(rank_.counters.frames_received);
    }
    void release_frame(transport::self::Loopback& loopback, const transport::Frame&)
    {
        loopback.release(allocator());
        count(rank_.counters.frames_received);
    }

    /// Posts the op's frame now or, in order, as soon as there is room. An eager send completes
    /// when its bytes have been copied out; a control op is freed; others stay pending.
    void post(Op* op);

    /// Posts a protocol's record to a peer, now or as soon as there is room. False: the node heap
    /// is exhausted.
    template <typename Record>
    bool post_record(std::uint32_t peer, transport::FrameKind kind, const Record& record,
                     Urgency urgency = Urgency::by_kind)
    {
        static_assert(sizeof(Record) <= transport::inline_bytes_max);
        return post_control(peer, kind, &record, sizeof(Record), urgency);
    }

    /// As Worker::complete.
    void complete(Op* op)
    {
        if (is_owner() && op->owner == &rank_ && !lock_.is_enabled()) [[likely]] {
            worker_.complete_own(op);
        } else {
            worker_.complete(op);
        }
    }
    /// As Worker::fire.
    void fire(sync::Waiter* chain) { worker_.fire(chain); }

    /// The op may need this rank's CPU until it is complete: the rank leaves its word free while it
    /// computes, so that others can give it theirs. Requires: before anybody else knows the op.
    void mark_open(Op* op)
    {
        op->is_open = true;
        rank_.open_ops.add();
    }

    /// A new op of this rank, or null if the heap is exhausted.
    Op* create_op(OpKind kind)
    {
        void* place = rank_.spare_ops;
        if (place != nullptr) [[likely]] {
            rank_.spare_ops = rank_.spare_ops->next;
            --rank_.spare_op_count;
        } else {
            place = allocator().allocate(sizeof(Op));
            if (place == nullptr) {
                return nullptr;
            }
        }
        Op* op = new (place) Op;
        op->owner = &rank_;
        op->kind = kind;
        return op;
    }
    /// Frees an op of this rank that is complete or was never started.
    void destroy_op(Op* op)
    {
        if (rank_.spare_op_count == spare_ops_max) [[unlikely]] {
            allocator().free(op);
            return;
        }
        op->next = std::exchange(rank_.spare_ops, op);
        ++rank_.spare_op_count;
    }

    /// Lets the op go: freed now if complete, else by whoever completes it.
    void abandon_op(Op* op);

  private:
    friend class WaitMark;

    /// A window of messages, and the next one: what is used again is still in a cache.
    static constexpr std::uint32_t spare_ops_max = 128;

    /// Frames taken in one sweep before the rest of the rank's work has its turn.
    static constexpr int frames_a_sweep = 64;

    /// Only the executor writes the counters, so no read-modify-write is needed.
    static void count(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) noexcept
    {
        // Relaxed: a statistic.
        counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

    bool post_control(std::uint32_t peer, transport::FrameKind kind, const void* record,
                      std::size_t record_bytes, Urgency urgency);
    base::Status post_now(std::uint32_t peer, transport::FrameKind kind,
                          transport::FrameHeader header, const void* payload,
                          std::size_t payload_bytes, Urgency urgency = Urgency::by_kind);
    /// A frame of kind eager whose payload is memory of the rank.
    base::Status post_bytes(std::uint32_t peer, transport::FrameHeader header, const void* address,
                            std::uint64_t size_bytes, Urgency urgency = Urgency::by_kind);
    base::Status post_far_bytes(std::uint32_t peer, transport::FrameHeader header,
                                const void* address, std::uint64_t size_bytes);
    base::Status post_observed(std::uint32_t peer, transport::FrameKind kind,
                               transport::FrameHeader header, const void* payload,
                               std::size_t payload_bytes);
    base::Status transmit(std::uint32_t peer, transport::FrameKind kind,
                          transport::FrameHeader header, const void* payload,
                          std::size_t payload_bytes, Urgency urgency = Urgency::by_kind);
    void tell_posted(std::uint32_t peer, transport::FrameKind kind, transport::FrameHeader header,
                     std::size_t payload_bytes, Urgency urgency);
    base::Status post_to_self(transport::FrameKind kind, transport::FrameHeader header,
                              const void* payload, std::size_t payload_bytes);
    base::Status post_among_threads(transport::FrameKind kind, transport::FrameHeader header,
                                    const void* payload, std::size_t payload_bytes);
    bool has_own_lane();
    base::Status post_to_lane(std::uint32_t peer, transport::FrameKind kind,
                              transport::FrameHeader header, const void* payload,
                              std::size_t payload_bytes);
    PeerSlot& distant_slot(std::uint32_t peer);
    bool try_post_distant(std::uint32_t peer, transport::FrameHeader header, const void* address,
                          std::uint64_t size_bytes);
    base::Status post_distant(std::uint32_t peer, transport::FrameKind kind,
                              transport::FrameHeader header, const void* payload,
                              std::size_t payload_bytes);
    bool begins_look(std::int64_t& now_ns);
    int take_distant_frames();
    void ring_called();
    bool listen_by(bool (transport::Port::*prepare)() noexcept, bool (Watch::*call)());
    bool takes_eager(std::uint32_t peer) const noexcept;
    bool post_op(Op* op);
    bool post_eager_op(Op* op);
    bool open_lane(std::uint32_t peer);
    transport::shm::Lane* find_inbound(std::uint32_t sender);
    int take_frames();
    int take_other_frames();
    int take_due_frames();
    void take_inbound(const transport::Frame& frame);
    int post_waiting();

    Worker& worker_;
    Node& node_;
    RankState& rank_;
    RankLock& lock_;
    const Role role_;
    const bool is_local_;
    std::uint32_t frames_ahead_ = 0;  ///< taken in the sweep under way, see note_frame_ahead()
    transport::Port* const port_;
    observe::Tracer* tracer_;
    QuickReceive* expected_ = nullptr;
    Siblings* siblings_ = nullptr;
    unsigned advances_ = 0;               ///< of a rank with siblings
    bool is_waiting_ = false;             ///< see WaitMark
    int frames_out_of_turn_ = 0;          ///< since the last sweep over all lanes
    std::int64_t network_looked_ns_ = 0;  ///< when the last look found nothing
    std::uint32_t looks_ = 0;             ///< at the network, of a rank alone on its node
    std::int64_t clock_ns_ = 0;           ///< at the latest look for which it was read
    bool passes_by_ = false;              ///< see progress_in_passing()
    bool is_heard_ = false;               ///< the watch listens since the last listen()
};

/// While it lives, the driver's thread waits.
class WaitMark {
  public:
    explicit WaitMark(Driver& driver) noexcept
        : driver_(driver), before_(std::exchange(driver.is_waiting_, true))
    {
    }
    ~WaitMark() { driver_.is_waiting_ = before_; }
    WaitMark(const WaitMark&) = delete;
    WaitMark& operator=(const WaitMark&) = delete;

  private:
    Driver& driver_;
    bool before_;
};

}  // namespace headway::engine
