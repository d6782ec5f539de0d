// SPDX-License-Identifier: Apache-2.0
#include "engine/worker.hpp"

#include <algorithm>
#include <utility>

#include "engine/copy_job.hpp"
#include "engine/driver.hpp"
#include "engine/joint.hpp"
#include "engine/observation.hpp"
#include "engine/staged_pieces.hpp"
#include "engine/sync_object.hpp"
#include "platform/scheduler.hpp"

namespace headway::engine {

Worker::Worker(Node& node, RankState* own)
    : node_(node),
      own_(own),
      allocator_(own != nullptr ? node.allocator(own->rank) : node.heap->for_stranger()),
      name_(own != nullptr ? own->rank : node.first_rank()),
      tracer_(node.tracer.get())
{
}

template <typename Finish>
inline void Worker::complete_by(Op* op, Finish&& finish)
{
    if (tracer_ != nullptr && op->kind == OpKind::receive) [[unlikely]] {
        record_delivered(*tracer_, *op);
    }
    // Read first: the op may be gone once its word is complete.
    RankState* const open_at = op->is_open && op->kind != OpKind::control ? op->owner : nullptr;
    sync::Waiter* const waiters = finish(op->word);
    if (open_at != nullptr) {
        open_at->open_ops.remove();
    }
    fire(waiters);
}

void Worker::complete(Op* op)
{
    complete_by(op, [](sync::OpWord& word) { return word.complete(); });
}

void Worker::complete_own(Op* op)
{
    complete_by(op, [](sync::OpWord& word) { return word.complete_alone(); });
}

void Worker::fire(sync::Waiter* chain)
{
    while (chain != nullptr) {
        // Read first: a fired waiter may be gone.
        sync::Waiter* const next = chain->next;
        if (chain->kind == sync::WaiterKind::thread) {
            sync::fire_thread(chain);
        } else if (chain->kind == sync::WaiterKind::joint) {
            fire_joint(*this, chain);
        } else if (chain->kind == sync::WaiterKind::sync_object) {
            fire_sync_event(*this, chain);
        } else {
            Op* op = reinterpret_cast<Op*>(chain->payload);
            if (op->graph == nullptr && op->kind != OpKind::control) {
                allocator_.free(op);
            } else {
                RankState* owner = op->owner;
                owner->fired.push(&op->fired);
                // Who has the rank's word in hand sweeps it before he lets go.
                if (owner != own_ && owner != holding_) {
                    ring(*owner);
                }
            }
        }
        chain = next;
    }
}

void Worker::ring(RankState& rank)
{
    switch (rank.ownership.ring()) {
        case sync::RingEffect::nothing:
            return;
        case sync::RingEffect::wake_parked:
            rank.ownership.wake_parked();
            return;
        case sync::RingEffect::ask_helper:
            break;
    }
    // Relaxed: a statistic.
    rank.counters.calls_for_help.fetch_add(1, std::memory_order_relaxed);
    remember(rank);
}

void Worker::remember(RankState& rank)
{
    platform::scheduling_point();
    if (asked_count_ < asked_max) {
        asked_[asked_count_++] = &rank;
    } else {
        leave_behind(rank);
    }
}

void Worker::leave_behind(RankState& rank)
{
    node_.directory.wanted.add(rank.rank);
    must_hand_over_ = true;
}

bool Worker::can_work_for(const RankState& rank)
{
    // A rank's way to other nodes belongs to its own process.
    return node_.network != nullptr ? rank.process == node_.own_process
                                    : node_.peer_memory.can_reach(rank.process);
}

/// Work for a rank that computes, as a trace and a profile tell of it.
class Worker::Help {
  public:
    Help(const Worker& worker, RankState& rank)
        : worker_(worker), rank_(rank), begin_ns_(observe::span_begin(worker.tracer_))
    {
    }
    ~Help()
    {
        using observe::SpanKind;
        const SpanKind kind = worker_.own_ == nullptr ? SpanKind::agent : SpanKind::help;
        const std::int64_t length_ns =
            observe::span_end(worker_.tracer_, kind, rank_.rank, worker_.name_, begin_ns_);
        if (has_held_ && length_ns > 0) [[unlikely]] {
            // Relaxed: a statistic. Several workers may add, one after the other has let go.
            rank_.counters.helped_ns.fetch_add(static_cast<std::uint64_t>(length_ns),
                                               std::memory_order_relaxed);
        }
    }
    Help(const Help&) = delete;
    Help& operator=(const Help&) = delete;

    void note_hold() noexcept { has_held_ = true; }

  private:
    const Worker& worker_;
    RankState& rank_;
    std::int64_t begin_ns_;
    bool has_held_ = false;  ///< else somebody else was quicker
};

void Worker::work_for(RankState& rank)
{
    Help help(*this, rank);
    RankLock nobody_inside;
    Driver driver(*this, rank, nobody_inside, Driver::Role::helper);
    bool again = true;
    while (again && rank.ownership.try_hold(name_)) {
        help.note_hold();
        RankState* const held_before = holding_;
        holding_ = &rank;
        rank.counters.times_helped.fetch_add(1, std::memory_order_relaxed);  // a statistic
        if (tracer_ != nullptr && own_ == nullptr) [[unlikely]] {
            observe_thread(driver, observe::ThreadKind::agent);
        }
        // An owner who comes back is not kept waiting: it sweeps by itself.
        do {
            while (driver.progress() != 0 && !rank.ownership.is_parked()) {
            }
        } while (!rank.ownership.is_parked() &&
                 (!driver.listen() || (driver.is_local() && has_to_stage(driver))));
        const bool is_left = defers_copies_ && has_unattended_copies(driver);
        StagingSlot* const kept = defers_copies_ ? nullptr : take_kept(driver);
        CopyJob* const job = defers_copies_ || kept != nullptr ? nullptr : find_copy(driver);
        const bool needs_own_process = !driver.is_local() && has_pieces_for_own_process(driver);
        const std::int64_t due_ns = driver.look_again_ns();
        holding_ = held_before;
        platform::scheduling_point();
        again = rank.ownership.release_hold();
        if (due_ns != 0) [[unlikely]] {
            see_to(rank, due_ns);
        }
        if (needs_own_process) [[unlikely]] {
            leave_to_own_process(rank);
        }
        if (is_left) {
            node_.directory.wanted.add(rank.rank);
            has_deferred_ = true;
        }
        if (kept != nullptr || job != nullptr) {
            // Little a turn: the worker has its own rank to look after.
            if (kept != nullptr) {
                deliver_outside(*this, kept);
            } else {
                copy_outside(*this, job);
            }
            remember(rank);
            return;
        }
    }
}

void Worker::work_for_all()
{
    for (std::uint32_t number = 0; number < node_.directory.rank_count; ++number) {
        RankState& rank = node_.rank_state(number);
        // Relaxed: who rings later is seen to by the ringer.
        if (rank.process == node_.own_process && rank.ownership.is_free() &&
            (rank.open_ops.leave_word_free() ||
             rank.is_passive.load(std::memory_order_relaxed) != 0 || node_.network != nullptr)) {
            work_for(rank);
        }
    }
}

void Worker::see_to(RankState& rank, std::int64_t due_ns)
{
    if (rank.process == node_.own_process) {
        node_.watch().wake_at(due_ns);
    } else {
        // Its agent finds the frame withheld and sets the timer of its process.
        node_.directory.wanted.add(rank.rank);
        wake_agent_of(rank);
    }
}

bool Worker::help()
{
    bool has_worked = false;
    // Work for one may ask for help for others, whose turn comes with the next call.
    RankState* asked[asked_max];
    const std::size_t count = std::exchange(asked_count_, 0);
    std::copy_n(asked_, count, asked);
    for (std::size_t i = 0; i < count; ++i) {
        if (can_work_for(*asked[i])) {
            work_for(*asked[i]);
            has_worked = true;
        } else {
            node_.directory.wanted.add(asked[i]->rank);
            wake_agent_of(*asked[i]);
        }
    }
    return help_wanted() || has_worked;
}

bool Worker::help_wanted()
{
    RankSet& wanted = node_.directory.wanted;
    // Work for one may leave others behind, with numbers that this round has passed: those are the
    // next call's.
    const bool must_hand_over = std::exchange(must_hand_over_, false);
    bool has_worked = false;
    const std::uint32_t count = node_.directory.rank_count;
    for (std::uint32_t number = wanted.next(0, count); number != ranks_per_node_max;
         number = wanted.next(number + 1, count)) {
        RankState& rank = node_.rank_state(number);
        if (can_work_for(rank)) {
            if (wanted.remove(number)) {
                work_for(rank);
                has_worked = true;
            }
        } else if (must_hand_over) {
            wake_agent_of(rank);
        }
    }
    return has_worked;
}

/// If its agent finds the word held, the holder sees the same need when he lets go.
void Worker::leave_to_own_process(RankState& rank)
{
    node_.directory.wanted_at_home.add(rank.rank);
    wake_agent_of(rank);
}

void Worker::wake_agent_of(const RankState& rank)
{
    node_.directory.processes[rank.process].agent_bed.notify_parked();
}

void Worker::hand_over()
{
    Directory& directory = node_.directory;
    while (asked_count_ != 0) {
        directory.wanted.add(asked_[--asked_count_]->rank);
    }
    must_hand_over_ = false;
    const std::uint32_t count = directory.rank_count;
    for (std::uint32_t number = directory.wanted.next(0, count); number != ranks_per_node_max;
         number = directory.wanted.next(number + 1, count)) {
        const std::uint32_t sleeper = directory.idle.next(0, count);
        // Who takes a sleeper out of the set has woken it: it will look at those who are wanted.
        if (sleeper != ranks_per_node_max && directory.idle.remove(sleeper)) {
            platform::scheduling_point();
            node_.rank_state(sleeper).ownership.nudge();
        } else {
            wake_agent_of(node_.rank_state(number));
        }
    }
}

}  // namespace headway::engine
