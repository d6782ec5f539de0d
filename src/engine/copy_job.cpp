// SPDX-License-Identifier: Apache-2.0
#include "engine/copy_job.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "data/type_program.hpp"
#include "engine/driver.hpp"
#include "platform/process.hpp"
#include "platform/streaming_copy.hpp"

namespace headway::engine {

namespace {

/// Pieces that a rank takes at once of its own messages.
constexpr std::uint64_t large_piece_max = 8;

/// Messages from this length on are written past the caches, which could not hold them. Shorter
/// ones would be received faster, too, but not read (docs/design/013).
constexpr std::uint64_t streamed_bytes_min = 8ULL * 1024 * 1024;

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
    if (job.is_staged_only) {
        return false;
    }
    if (job.has_elements()) {
        return job.receiver->process == node.own_process;  // and so does the sender's end
    }
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

/// Counts bytes of the message as dealt with, and completes it with the last of them.
void count_bytes(Worker& worker, CopyJob* job, std::uint64_t bytes, OpError error)
{
    if (error != OpError::none) {
        // Relaxed: published by the exchange below.
        job->error.store(static_cast<std::uint32_t>(error), std::memory_order_relaxed);
    }
    // (1) acq_rel, pairs with itself: the last one to finish has all pieces and passes them on
    // with the ops' words.
    if (job->copied.fetch_add(bytes, std::memory_order_acq_rel) + bytes == job->total_bytes) {
        finish(worker, job);
    }
}

/// Counts what was copied from `source` to `target`, and how it ended.
void account(Worker& worker, CopyJob* job, const transport::Place& target,
             const transport::Place& source, std::uint64_t bytes, transport::CopyOutcome outcome)
{
    if (outcome == transport::CopyOutcome::unreachable &&
        (has_ended(worker.node(), source.process) || has_ended(worker.node(), target.process))) {
        // A process died, of which its launcher makes a better sentence than we can: the message
        // never arrives, and the launcher ends the job.
        return;
    }
    RankCounters& counters = job->receive->owner->counters;
    if (source.process == transport::Place::everywhere && crosses(*job)) {
        // Relaxed, as below: a statistic.
        counters.bytes_piped.fetch_add(bytes, std::memory_order_relaxed);
    } else if (source.process != target.process) {
        counters.bytes_copied_across.fetch_add(bytes, std::memory_order_relaxed);
    }
    count_bytes(worker, job, bytes,
                outcome == transport::CopyOutcome::done ? OpError::none : OpError::bad_address);
}

/// Bytes of elements, or of a place of this process, to a place of this process, or the reverse.
void read_source(const CopyJob& job, std::uint64_t from, std::uint64_t bytes, std::byte* target)
{
    if (job.source_elements != nullptr) {
        data::pack(*job.source_elements, from, from + bytes, target);
    } else {
        std::memcpy(target, job.source.address + from, bytes);
    }
}

void write_target(const CopyJob& job, std::uint64_t from, std::uint64_t bytes,
                  const std::byte* source)
{
    if (job.target_elements != nullptr) {
        data::unpack(*job.target_elements, from, from + bytes, source);
    } else if (job.total_bytes >= streamed_bytes_min) {
        platform::copy_streaming(job.target.address + from, source, bytes);
    } else {
        std::memcpy(job.target.address + from, source, bytes);
    }
}

/// Between elements of this process, or from or to them: as much at a time as stays in the cache
/// nearest to the core where both ends have gaps.
void copy_elements(const CopyJob& job, std::uint64_t from, std::uint64_t bytes)
{
    if (job.source_elements == nullptr) {
        write_target(job, from, bytes, job.source.address + from);
        return;
    }
    if (job.target_elements == nullptr) {
        read_source(job, from, bytes, job.target.address + from);
        return;
    }
    constexpr std::size_t load_bytes = 16 * 1024;
    std::byte load[load_bytes];
    for (std::uint64_t done = 0; done < bytes; done += load_bytes) {
        const std::uint64_t now = std::min<std::uint64_t>(load_bytes, bytes - done);
        read_source(job, from + done, now, load);
        write_target(job, from + done, now, load);
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
    if (job->has_elements()) {
        copy_elements(*job, from, bytes);
        count_bytes(worker, job, bytes, OpError::none);
        return bytes;
    }
    const transport::Place source{job->source.address + from, job->source.process};
    const transport::Place target{job->target.address + from, job->target.process};
    account(worker, job, target, source, bytes,
            worker.node().peer_memory.copy(target, source, bytes));
    return bytes;
}

/// The slot of a piece is empty.
void release_slot(Worker& worker, const StagedPiece& piece)
{
    if (piece.slot->release()) {
        worker.ring(*piece.job->sender);
    }
}

/// Moves a staged piece from its slot to its target, drops its reference.
void deliver_piece(Driver& driver, const StagedPiece& piece)
{
    CopyJob* const job = piece.job;
    const transport::Place target{job->target.address + piece.from, job->target.process};
    const transport::Place source{piece.slot->bytes, transport::Place::everywhere};
    auto outcome = transport::CopyOutcome::done;
    if (&driver.rank() == job->receiver && driver.is_local()) {
        write_target(*job, piece.from, piece.bytes, piece.slot->bytes);
    } else {
        outcome = driver.node().peer_memory.copy(target, source, piece.bytes);
    }
    release_slot(driver.worker(), piece);
    account(driver.worker(), job, target, source, piece.bytes, outcome);
    drop_reference(driver.worker(), job);
}

/// A staged piece of which its receiver can never hear.
void lose_piece(Driver& driver, const StagedPiece& piece)
{
    release_slot(driver.worker(), piece);
    count_bytes(driver.worker(), piece.job, piece.bytes, OpError::no_memory);
    drop_reference(driver.worker(), piece.job);
}

/// Of a message of a few pieces smaller ones, so that both copy at the same time; of short runs,
/// which take longer, smaller ones still. The first node of a program is a run.
std::uint64_t staged_bytes_of(const CopyJob& job)
{
    constexpr std::uint64_t short_run_bytes = 256;
    const bool has_short_runs =
        job.source_elements != nullptr &&
        job.source_elements->program.nodes.front().packed_bytes < short_run_bytes;
    const std::uint64_t pieces_wanted = has_short_runs ? 16 : 4;
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

/// Stages the next piece in a slot that is empty and in turn.
void stage_piece(Driver& driver, CopyJob* job, Staging& staging, StagingSlot* slot)
{
    const std::uint64_t wanted = staged_bytes_of(*job);
    // Relaxed: as in copy_piece().
    const std::uint64_t from = job->taken.fetch_add(wanted, std::memory_order_relaxed);
    if (from >= job->total_bytes) {
        return;
    }
    const std::uint64_t bytes = std::min(wanted, job->total_bytes - from);
    if (job->source_elements != nullptr) {
        staging.take(slot);
        read_source(*job, from, bytes, slot->bytes);
    } else {
        staging.fill(slot, job->source.address + from, bytes);
    }
    // Relaxed: as in find_copy().
    job->references.fetch_add(1, std::memory_order_relaxed);
    const StagedPiece piece{job, slot, from, bytes};
    if (driver.post_record(job->receiver->rank, transport::FrameKind::piece, piece)) {
        return;
    }
    if (job->is_staged_only) {
        lose_piece(driver, piece);
    } else {
        deliver_piece(driver, piece);
    }
}

/// False: there is no slot for the next piece, or the rank's slots cannot be made.
bool try_stage(Driver& driver, CopyJob* job)
{
    Staging* const staging = staging_of(driver);
    StagingSlot* const slot = staging != nullptr ? staging->next() : nullptr;
    if (slot == nullptr) {
        return false;
    }
    stage_piece(driver, job, *staging, slot);
    return true;
}

/// A message that cannot move for want of memory.
void give_up(Worker& worker, CopyJob* job)
{
    // Relaxed: as in copy_piece().
    const std::uint64_t from = job->taken.fetch_add(job->total_bytes, std::memory_order_relaxed);
    if (from < job->total_bytes) {
        count_bytes(worker, job, job->total_bytes - from, OpError::no_memory);
    }
}

/// Stages pieces of a message that goes no other way, a few; their number. The others have their
/// turn, and an owner who comes back is not kept waiting.
int stage_some(Driver& driver, CopyJob* job)
{
    constexpr int pieces_a_turn = 2;
    Staging* const staging = staging_of(driver);
    if (staging == nullptr) {
        give_up(driver.worker(), job);
        return 1;
    }
    int staged = 0;
    for (; staged < pieces_a_turn && job->has_pieces(); ++staged) {
        StagingSlot* const slot = staging->await_next();
        if (slot == nullptr) {
            break;
        }
        stage_piece(driver, job, *staging, slot);
    }
    return staged;
}

/// Takes out what was kept for a thread of this process; the number of pieces.
int deliver_kept(Driver& driver)
{
    int delivered = 0;
    StagingSlot* slot = std::exchange(driver.rank().kept_pieces, nullptr);
    for (; slot != nullptr; ++delivered) {
        // Copied first: the slot is its sender's once it is empty.
        const StagedPiece piece = slot->kept;
        slot = slot->next_kept;
        deliver_piece(driver, piece);
    }
    return delivered;
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
    if (send->in_elements == InElements::yes) {
        job->source_elements = send->elements;
    }
    if (receive->in_elements == InElements::possible) {
        receive->in_elements = InElements::yes;
        job->target_elements = receive->elements;
    }
    job->is_staged_only = crosses(*job) && (job->has_elements() ||
                                            !driver.node().peer_memory.can_reach(source.process));
    RankState& rank = driver.rank();
    RankState& sender = *send->owner;
    job->next = rank.copies;
    rank.copies = job;
    if (&sender != &rank) {
        // Relaxed: nobody else knows the job yet.
        job->references.store(2, std::memory_order_relaxed);
        sender.invitations.push(&job->invitation);
        if (job->is_staged_only) {
            driver.worker().ring(sender);
        } else {
            sender.ownership.notify_parked();
        }
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
    return (is_to_stage(driver, *job) && try_stage(driver, job)) ||
           copy_piece(driver.worker(), job, large_piece(driver.rank(), *job)) != 0;
}

void take_piece(Driver& driver, const transport::Frame& frame, std::uint32_t /*sender*/)
{
    const auto piece = frame.record<StagedPiece>();
    piece.job->sweeps_left_to_sender = 0;
    if (piece.job->target_elements != nullptr && !driver.is_local()) {
        piece.slot->kept = piece;
        piece.slot->next_kept = std::exchange(driver.rank().kept_pieces, piece.slot);
        return;
    }
    deliver_piece(driver, piece);
}

int move_staged_only(Driver& driver)
{
    RankState& rank = driver.rank();
    if (!rank.invitations.is_empty()) {
        take_invitations(rank);
    }
    if (!driver.is_local()) {
        return 0;
    }
    int moved = rank.kept_pieces != nullptr ? deliver_kept(driver) : 0;
    prune(driver.worker(), &rank.invited, &CopyJob::next_invited);
    for (CopyJob* job = rank.invited; job != nullptr; job = job->next_invited) {
        moved += job->is_staged_only ? stage_some(driver, job) : 0;
    }
    return moved;
}

bool has_pieces_for_own_process(Driver& driver)
{
    RankState& rank = driver.rank();
    if (rank.kept_pieces != nullptr) {
        return true;
    }
    for (const CopyJob* job = rank.copies; job != nullptr; job = job->next) {
        if (job->has_elements() && !job->is_staged_only && job->has_pieces() &&
            is_away(*job->sender)) {
            return true;
        }
    }
    for (const CopyJob* job = rank.invited; job != nullptr; job = job->next_invited) {
        if (!job->has_pieces()) {
            continue;
        }
        // Whoever empties a slot that is awaited rings.
        if (job->is_staged_only ? rank.staging == nullptr || rank.staging->await_next() != nullptr
                                : job->has_elements() && is_away(*job->receiver)) {
            return true;
        }
    }
    return false;
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
        if (!job->is_staged_only && is_away(*job->sender)) {
            return true;
        }
    }
    for (const CopyJob* job = rank.invited; job != nullptr; job = job->next_invited) {
        if (!job->is_staged_only && is_away(*job->receiver)) {
            return true;
        }
    }
    return false;
}

}  // namespace headway::engine
