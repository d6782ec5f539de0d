// SPDX-License-Identifier: Apache-2.0
#include "engine/copy_job.hpp"

#include <algorithm>
#include <new>

#include "engine/driver.hpp"
#include "platform/process.hpp"

namespace headway::engine {

namespace {

/// Pieces that a rank takes at once of its own messages.
constexpr std::uint64_t large_piece_max = 8;

void drop_reference(Worker& worker, CopyJob* job)
{
    // (2) acq_rel, pairs with itself: what all did with the job comes before it is freed.
    if (job->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        worker.allocator().free(job);
    }
}

/// Whether a rank is not in MPI to do its share, by its looks.
bool is_away(const RankState& rank)
{
    // Relaxed: a hint.
    return rank.waiting_threads.load(std::memory_order_relaxed) == 0;
}

/// Whether a rank is in MPI, if only between two steps of a call, by its looks. Without anybody who
/// could work for it a rank keeps its word while it computes, which says nothing then.
bool is_inside(const Node& node, const RankState& rank)
{
    return !is_away(rank) ||
           (node.knobs.progress != config::ProgressChoice::none && rank.ownership.is_owned());
}

/// Whether this process can copy at all: both ends must be in reach. Whose bytes are in neither
/// end's process here copies twice, so it leaves the work to a sender that waits for it.
bool is_ours_to_copy(Worker& worker, const CopyJob& job)
{
    Node& node = worker.node();
    const auto is_here = [&](const transport::Place& place) {
        return place.process == node.own_process || place.process == transport::Place::everywhere;
    };
    if (is_here(job.source)) {
        return is_here(job.target) || node.peer_memory.can_reach(job.target.process);
    }
    if (!node.peer_memory.can_reach(job.source.process)) {
        return false;
    }
    if (is_here(job.target)) {
        return true;
    }
    return is_away(*job.sender) && node.peer_memory.can_reach(job.target.process);
}

/// Whether a process, which copies reached before, is no more.
bool has_ended(const Node& node, std::uint32_t process)
{
    return process != node.own_process && process != transport::Place::everywhere &&
           !platform::process_exists(node.directory.processes[process].process_id);
}

/// Whether no thread has both ends at hand: the ranks are of two processes, and the bytes are not
/// in the node heap. (Where they are, the receiver needs nobody. A target in the heap is the
/// receiver's scratch: to write into what its caches hold costs the sender more than a slot.)
bool crosses(const CopyJob& job)
{
    return job.source.process != job.receiver->process &&
           job.source.process != transport::Place::everywhere && job.sender != job.receiver;
}

void finish(Worker& worker, CopyJob* job)
{
    // Relaxed: ordered by the exchange on `copied` that made us the last.
    const auto error = static_cast<OpError>(job->error.load(std::memory_order_relaxed));
    if (error != OpError::none) {
        job->receive->error = error;
        job->send->error = error;
    }
    worker.complete(job->receive);
    worker.complete(job->send);
}

/// Counts what was copied from `source` to `target`, how it ended, and completes the message with
/// its last piece.
void account(Worker& worker, CopyJob* job, const transport::Place& target,
             const transport::Place& source, std::uint64_t bytes, transport::CopyOutcome outcome)
{
    if (outcome == transport::CopyOutcome::unreachable &&
        (has_ended(worker.node(), source.process) || has_ended(worker.node(), target.process))) {
        // A process died, of which its launcher makes a better sentence than we can: the message
        // never arrives, and the launcher ends the job.
        return;
    }
    if (outcome != transport::CopyOutcome::done) {
        // Relaxed: published by the exchange below.
        job->error.store(static_cast<std::uint32_t>(OpError::bad_address),
                         std::memory_order_relaxed);
    }
    RankCounters& counters = job->receive->owner->counters;
    if (source.process == transport::Place::everywhere && crosses(*job)) {
        // Relaxed, as below: a statistic.
        counters.bytes_piped.fetch_add(bytes, std::memory_order_relaxed);
    } else if (source.process != target.process) {
        counters.bytes_copied_across.fetch_add(bytes, std::memory_order_relaxed);
    }
    // (1) acq_rel, pairs with itself: the last one to finish has all pieces and passes them on
    // with the ops' words.
    if (job->copied.fetch_add(bytes, std::memory_order_acq_rel) + bytes == job->total_bytes) {
        finish(worker, job);
    }
}

/// Takes and copies `wanted` bytes at most; their number, 0 if none was left. The caller has a
/// reference.
std::uint64_t copy_piece(Worker& worker, CopyJob* job, std::uint64_t wanted)
{
    // Relaxed: pieces are disjoint, and what they hold was published with the job.
    const std::uint64_t from = job->taken.fetch_add(wanted, std::memory_order_relaxed);
    if (from >= job->total_bytes) {
        return 0;
    }
    const std::uint64_t bytes = std::min(wanted, job->total_bytes - from);
    const transport::Place source{job->source.address + from, job->source.process};
    const transport::Place target{job->target.address + from, job->target.process};
    account(worker, job, target, source, bytes,
            worker.node().peer_memory.copy(target, source, bytes));
    return bytes;
}

/// Moves a staged piece from its slot to its target, drops its reference.
void deliver_piece(Driver& driver, const StagedPiece& piece)
{
    CopyJob* const job = piece.job;
    const transport::Place target{job->target.address + piece.from, job->target.process};
    const transport::Place source{piece.slot->bytes, transport::Place::everywhere};
    const auto outcome = driver.node().peer_memory.copy(target, source, piece.bytes);
    piece.slot->release();
    account(driver.worker(), job, target, source, piece.bytes, outcome);
    drop_reference(driver.worker(), job);
}

/// Of a message of a few pieces smaller ones, so that both copy at the same time.
std::uint64_t staged_bytes_of(const CopyJob& job)
{
    constexpr std::uint64_t pieces_wanted = 4;
    return std::clamp<std::uint64_t>(job.total_bytes / pieces_wanted, StagingSlot::bytes_max / 8,
                                     StagingSlot::bytes_max);
}

/// What a rank's own hands take: all they may where they are alone. Halves of what is left end
/// together where two copy, and the last pieces are small.
std::uint64_t large_piece(const RankState& rank, const CopyJob& job)
{
    // Relaxed: a guess.
    const std::uint64_t taken = job.taken.load(std::memory_order_relaxed);
    const std::uint64_t left = job.total_bytes - std::min(taken, job.total_bytes);
    const RankState& other = &rank == job.receiver ? *job.sender : *job.receiver;
    const bool is_alone = &other == &rank || is_away(other);
    return std::clamp(is_alone ? left : left / 2, job.piece_bytes,
                      large_piece_max * job.piece_bytes);
}

/// Whether pieces of this message may go through slots of the driver's rank, which sends it: the
/// receiver waits for them in another process.
bool is_to_stage(Driver& driver, const CopyJob& job)
{
    return &driver.rank() == job.sender && driver.is_owner() && crosses(job) &&
           is_inside(driver.node(), *job.receiver);
}

/// Whether the driver's rank, which receives the message, leaves it to a sender that waits too to
/// stage the pieces; not for long if none comes.
bool leaves_to_sender(Driver& driver, CopyJob& job)
{
    constexpr std::uint32_t sweeps_max = 1000;
    if (driver.node().is_oversubscribed || !driver.is_owner() || !crosses(job) ||
        !is_inside(driver.node(), *job.sender)) {
        return false;
    }
    return ++job.sweeps_left_to_sender < sweeps_max;
}

/// The slots of the driver's rank. Null: the node heap is exhausted.
Staging* staging_of(Driver& driver)
{
    RankState& rank = driver.rank();
    if (rank.staging == nullptr) {
        const std::uint32_t slots = driver.node().staging_slots;
        void* place = driver.allocator().allocate(Staging::bytes_needed(slots));
        if (place == nullptr) {
            return nullptr;
        }
        rank.staging = new (place) Staging;
        rank.staging->open(slots);
    }
    return rank.staging;
}

/// Stages the next piece. False: there is no slot for it.
bool stage_piece(Driver& driver, CopyJob* job)
{
    Staging* const staging = staging_of(driver);
    StagingSlot* const slot = staging != nullptr ? staging->next() : nullptr;
    if (slot == nullptr) {
        return false;
    }
    const std::uint64_t wanted = staged_bytes_of(*job);
    // Relaxed: as in copy_piece().
    const std::uint64_t from = job->taken.fetch_add(wanted, std::memory_order_relaxed);
    if (from >= job->total_bytes) {
        return true;
    }
    const std::uint64_t bytes = std::min(wanted, job->total_bytes - from);
    staging->fill(slot, job->source.address + from, bytes);
    // Relaxed: as in find_copy().
    job->references.fetch_add(1, std::memory_order_relaxed);
    const StagedPiece piece{job, slot, from, bytes};
    if (!driver.post_record(job->receiver->rank, transport::FrameKind::piece, piece)) {
        deliver_piece(driver, piece);
    }
    return true;
}

void take_invitations(RankState& rank)
{
    sync::ListLink* link = rank.invitations.take_all();
    while (link != nullptr) {
        sync::ListLink* const next = link->next;
        auto* job = reinterpret_cast<CopyJob*>(link);
        job->next_invited = rank.invited;
        rank.invited = job;
        link = next;
    }
}

/// Takes jobs without pieces off the list.
void prune(Worker& worker, CopyJob** list, CopyJob* CopyJob::* next)
{
    while (*list != nullptr) {
        CopyJob* const job = *list;
        if (job->has_pieces()) {
            list = &(job->*next);
        } else {
            *list = job->*next;
            drop_reference(worker, job);
        }
    }
}

CopyJob* next_job(Driver& driver, CopyShare share)
{
    RankState& rank = driver.rank();
    if (!rank.invitations.is_empty()) {
        take_invitations(rank);
    }
    prune(driver.worker(), &rank.copies, &CopyJob::next);
    for (CopyJob* job = rank.copies; job != nullptr; job = job->next) {
        if (is_ours_to_copy(driver.worker(), *job) &&
            (share == CopyShare::any || !leaves_to_sender(driver, *job))) {
            return job;
        }
    }
    prune(driver.worker(), &rank.invited, &CopyJob::next_invited);
    for (CopyJob* job = rank.invited; job != nullptr; job = job->next_invited) {
        if ((share != CopyShare::own || is_inside(driver.node(), *job->receiver)) &&
            is_ours_to_copy(driver.worker(), *job)) {
            return job;
        }
    }
    return nullptr;
}

}  // namespace

bool start_copy(Driver& driver, Op* receive, Op* send, transport::Place source,
                transport::Place target, std::uint64_t bytes)
{
    void* place = driver.allocator().allocate(sizeof(CopyJob));
    if (place == nullptr) {
        return false;
    }
    auto* job = new (place) CopyJob;
    job->send = send;
    job->receive = receive;
    job->sender = send->owner;
    job->receiver = &driver.rank();
    job->source = source;
    job->target = target;
    job->total_bytes = bytes;
    job->piece_bytes = driver.node().knobs.copy_piece;
    RankState& rank = driver.rank();
    RankState& sender = *send->owner;
    job->next = rank.copies;
    rank.copies = job;
    if (&sender != &rank) {
        // Relaxed: nobody else knows the job yet.
        job->references.store(2, std::memory_order_relaxed);
        sender.invitations.push(&job->invitation);
        sender.ownership.notify_parked();
    }
    return true;
}

std::uint64_t copy_some(Driver& driver, std::uint64_t bytes_max)
{
    std::uint64_t copied = 0;
    while (copied < bytes_max) {
        CopyJob* const job = next_job(driver, CopyShare::any);
        if (job == nullptr) {
            break;
        }
        copied += copy_piece(driver.worker(), job,
                             std::min(large_piece(driver.rank(), *job), bytes_max - copied));
    }
    return copied;
}

bool copy_next(Driver& driver, CopyShare share)
{
    CopyJob* const job = next_job(driver, share);
    if (job == nullptr) {
        return false;
    }
    return (is_to_stage(driver, *job) && stage_piece(driver, job)) ||
           copy_piece(driver.worker(), job, large_piece(driver.rank(), *job)) != 0;
}

void take_piece(Driver& driver, const transport::Frame& frame, std::uint32_t /*sender*/)
{
    const auto piece = frame.record<StagedPiece>();
    piece.job->sweeps_left_to_sender = 0;
    deliver_piece(driver, piece);
}

CopyJob* find_copy(Driver& driver)
{
    CopyJob* const job = next_job(driver, CopyShare::any);
    if (job != nullptr) {
        // Relaxed: the list's own reference keeps the job meanwhile.
        job->references.fetch_add(1, std::memory_order_relaxed);
    }
    return job;
}

void copy_outside(Worker& worker, CopyJob* job)
{
    const RankState* const own = worker.own();
    const bool is_own = own != nullptr && (own == job->sender || own == job->receiver);
    (void)copy_piece(worker, job, is_own ? large_piece(*own, *job) : job->piece_bytes);
    drop_reference(worker, job);
}

bool has_unattended_copies(Driver& driver)
{
    RankState& rank = driver.rank();
    if (!rank.invitations.is_empty()) {
        take_invitations(rank);
    }
    prune(driver.worker(), &rank.copies, &CopyJob::next);
    prune(driver.worker(), &rank.invited, &CopyJob::next_invited);
    for (const CopyJob* job = rank.copies; job != nullptr; job = job->next) {
        // A sender that stops waiting leaves behind what it was invited to.
        if (is_away(*job->sender)) {
            return true;
        }
    }
    for (const CopyJob* job = rank.invited; job != nullptr; job = job->next_invited) {
        if (is_away(*job->receiver)) {
            return true;
        }
    }
    return false;
}

}  // namespace headway::engine
