// SPDX-License-Identifier: Apache-2.0
#include "engine/staged_pieces.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "data/type_program.hpp"
#include "engine/copy_bytes.hpp"
#include "engine/copy_ways.hpp"
#include "engine/driver.hpp"
#include "engine/staging.hpp"

namespace headway::engine {

namespace {

/// Of a message that is not matched, so many bytes are staged: one whose receiver waits is matched
/// meanwhile, as a rule, and one whose receiver comes late finds them there.
constexpr std::uint64_t early_bytes_max = 512 * 1024;

/// Pieces that a sender who waits stages between two sweeps.
constexpr std::uint32_t stretch_max = 8;

/// Whether a slot holds a piece of a message that may not be matched for long, so that the next one
/// in turn has to do.
bool is_held(const StagingSlot& slot)
{
    // Relaxed: see CopyJob::is_invited.
    return !slot.job->is_invited.load(std::memory_order_relaxed);
}

/// The slot of a piece is empty.
void release_slot(Worker& worker, const StagedPiece& piece)
{
    if (piece.slot->release()) {
        worker.ring(*piece.job->sender);
    }
}

/// A staged piece has been copied out of its slot, or could not be.
void end_piece(Worker& worker, const StagedPiece& piece, transport::CopyOutcome outcome)
{
    release_slot(worker, piece);
    CopyJob* const job = piece.job;
    account(worker, job, {job->target.address + piece.from, job->target.process},
            {piece.slot->bytes, transport::Place::everywhere}, piece.bytes, outcome);
}

/// Moves a staged piece from its slot to its target, which any process knows.
void deliver_by_system(Worker& worker, const StagedPiece& piece)
{
    const CopyJob& job = *piece.job;
    const std::uint64_t fitting = job.fitting(piece.from, piece.bytes);
    auto outcome = transport::CopyOutcome::done;
    if (fitting != 0) {
        outcome = worker.node().peer_memory.copy(
            {job.target.address + piece.from, job.target.process},
            {piece.slot->bytes, transport::Place::everywhere}, fitting);
    }
    end_piece(worker, piece, outcome);
}

/// Moves a staged piece from its slot to its target.
void deliver_piece(Driver& driver, const StagedPiece& piece)
{
    const CopyJob& job = *piece.job;
    if (&driver.rank() != job.receiver || !driver.is_local()) {
        deliver_by_system(driver.worker(), piece);
        return;
    }
    if (const std::uint64_t fitting = job.fitting(piece.from, piece.bytes); fitting != 0) {
        write_target(job, piece.from, fitting, piece.slot->bytes, piece.slot->is_cached);
    }
    end_piece(driver.worker(), piece, transport::CopyOutcome::done);
}

/// A staged piece of which its receiver can never hear.
void lose_piece(Driver& driver, const StagedPiece& piece)
{
    release_slot(driver.worker(), piece);
    count_bytes(driver.worker(), piece.job, piece.bytes, OpError::no_memory);
}

/// Of a message of a few pieces smaller ones, so that both copy at the same time, unless others
/// follow it; of short runs, which take longer, smaller ones still.
std::uint64_t staged_bytes_of(const RankState& rank, const CopyJob& job)
{
    constexpr std::uint32_t few = 2;
    constexpr std::uint64_t short_run_bytes = 256;
    constexpr std::uint64_t whole_slots_from = 256 * 1024;
    const std::uint64_t most =
        StagingSlot::bytes_max / (job.total_bytes >= whole_slots_from ? 1 : 2);
    const bool has_short_runs = job.source_elements != nullptr &&
                                job.source_elements->program.first_run_bytes() < short_run_bytes;
    if (!has_short_runs &&
        rank.invited.size() + rank.invited_to_stage.size() + rank.offered.size() > few) {
        return most;
    }
    const std::uint64_t pieces_wanted = has_short_runs ? 16 : 4;
    return std::clamp<std::uint64_t>(job.total_bytes / pieces_wanted, StagingSlot::bytes_max / 16,
                                     most);
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

/// Puts a piece into the slot in turn, which is empty, and sends it on its way. `is_sure`: who
/// cannot hear of it by a frame finds its bytes some other way.
void stage_piece(Driver& driver, CopyJob* job, Staging& staging, std::uint64_t from,
                 std::uint64_t bytes, bool is_sure)
{
    StagingSlot* const slot = staging.next(is_held);
    if (job->source_elements != nullptr) {
        staging.take(slot, job);
        read_source(*job, from, bytes, slot->bytes);
    } else {
        staging.fill(slot, job, job->source.address + from, bytes);
    }
    const StagedPiece piece{job, slot, from, bytes};
    if (!driver.post_record(job->receiver->rank, transport::FrameKind::piece, piece,
                            Urgency::at_its_call)) {
        if (is_sure) {
            deliver_piece(driver, piece);
        } else {
            lose_piece(driver, piece);
        }
    }
}

/// What a stretch came to.
struct Staged {
    std::uint64_t bytes = 0;
    std::uint32_t pieces = 0;
};

/// Stages the next pieces in a stretch, `pieces` at most and of `bytes_max` in all; none if none
/// was left. Requires: so many slots in turn are empty, and at least one is wanted.
Staged stage_pieces(Driver& driver, CopyJob* job, Staging& staging, std::uint32_t pieces,
                    std::uint64_t bytes_max, bool is_sure)
{
    const std::uint64_t each =
        aligned_piece(std::min(staged_bytes_of(driver.rank(), *job), bytes_max));
    const std::uint64_t wanted = each * std::clamp<std::uint64_t>(bytes_max / each, 1, pieces);
    const Piece taken = job->take(wanted);
    const std::uint64_t end = taken.from + taken.bytes;
    RankState& receiver = *job->receiver;
    Staged staged;
    for (std::uint64_t from = taken.from; from < end; from += each) {
        const std::uint64_t bytes = std::min(each, end - from);
        stage_piece(driver, job, staging, from, bytes, is_sure);
        staged.bytes += bytes;
        ++staged.pieces;
    }
    // Once for all: the fence in it waits until every store of the copies has left the core.
    if (staged.pieces != 0) {
        driver.worker().ring(receiver);
    }
    return staged;
}

/// A message that cannot move for want of memory.
void give_up(Worker& worker, CopyJob* job)
{
    for (Piece lost = job->take(job->total_bytes); lost.bytes != 0;
         lost = job->take(job->total_bytes)) {
        count_bytes(worker, job, lost.bytes, OpError::no_memory);
    }
}

/// Whether this process had better write to the target, which is plain memory in its reach, than
/// wait for a receiver that is away to empty slots.
bool is_to_write(Node& node, const CopyJob& job)
{
    return job.source_elements != nullptr && !job.has_target_of_its_own() &&
           is_away(*job.receiver) && node.peer_memory.can_reach(job.target.process);
}

/// Writes the next piece.
void write_piece(Driver& driver, CopyJob* job)
{
    const auto [from, bytes] = job->take(job->piece_bytes);
    if (bytes == 0) {
        return;
    }
    const std::uint64_t fitting = job->fitting(from, bytes);
    const auto outcome = fitting != 0 ? store_bytes(driver.node(), *job, from, fitting)
                                      : transport::CopyOutcome::done;
    account(driver.worker(), job, job->target, job->source, bytes, outcome);
}

/// Moves pieces of messages that go no other way, the oldest first, a few; their number. An owner
/// who comes back is not kept waiting; one who waits takes a stretch.
int stage_some(Driver& driver)
{
    constexpr int pieces_a_turn = 2;
    const std::uint32_t together = driver.is_owner() && !is_away(driver.rank()) ? stretch_max : 1;
    CopiesOfSender& jobs = driver.rank().invited_to_stage;
    Staging* const staging = staging_of(driver);
    int staged = 0;
    while (!jobs.is_empty()) {
        CopyJob* const job = jobs.first();
        if (staging == nullptr) {
            give_up(driver.worker(), job);
            ++staged;
        }
        if (!job->has_pieces()) {
            jobs.remove(job);
            drop_reference(driver.worker(), job);
            continue;
        }
        if (staged >= pieces_a_turn) {
            break;
        }
        if (is_to_write(driver.node(), *job)) {
            write_piece(driver, job);
            ++staged;
            continue;
        }
        const std::uint32_t room = staging->count_empty(together, is_held);
        if (room == 0) {
            break;
        }
        const Staged stretch = stage_pieces(driver, job, *staging, room, UINT64_MAX, false);
        staged += static_cast<int>(stretch.pieces);
    }
    return staged;
}

/// Whether anybody can take a kept piece out: any process knows where it goes.
bool is_for_anybody(const CopyJob& job)
{
    return !job.has_target_of_its_own() && !job.is_staged_only;
}

/// Whether who works for the rank now can take a kept piece out.
bool can_deliver(Driver& driver, const StagedPiece& piece)
{
    return driver.is_local() || is_for_anybody(*piece.job);
}

/// Takes out the kept pieces of which `holds` says so, until `bytes_max` are copied; the bytes.
template <typename Holds>
std::uint64_t deliver_those(Driver& driver, std::uint64_t bytes_max, Holds&& holds)
{
    std::uint64_t delivered = 0;
    StagingSlot** link = &driver.rank().kept_pieces;
    while (*link != nullptr && delivered < bytes_max) {
        StagingSlot* const slot = *link;
        if (!holds(driver, slot->kept)) {
            link = &slot->next_kept;
            continue;
        }
        *link = slot->next_kept;
        // Copied first: the slot is its sender's once it is empty.
        const StagedPiece piece = slot->kept;
        delivered += piece.bytes;
        deliver_piece(driver, piece);
    }
    return delivered;
}

/// Whether a sweep of who works for the rank now does so: a call of the rank that does not wait
/// copies little (Driver::advance) and leaves the rest to others, who take it with them
/// (take_kept).
bool is_to_deliver(Driver& driver, const StagedPiece& piece)
{
    return is_for_anybody(*piece.job) ? driver.is_owner() && is_waiting(driver.rank())
                                      : driver.is_local();
}

}  // namespace

std::uint64_t try_stage(Driver& driver, CopyJob* job, std::uint64_t bytes_max)
{
    Staging* const staging = staging_of(driver);
    const std::uint32_t room = staging != nullptr ? staging->count_empty(stretch_max, is_held) : 0;
    // Others can take out what its receiver cannot hear of, if they know the target.
    const bool is_sure = !job->has_target_of_its_own();
    return room != 0 ? stage_pieces(driver, job, *staging, room, bytes_max, is_sure).bytes : 0;
}

bool stage_early(Driver& driver)
{
    RankState& rank = driver.rank();
    const std::uint32_t early_max = driver.node().staging_slots / 4;
    if (rank.early_pieces >= early_max) {
        return false;
    }
    CopyJob* const job = rank.offered.first();
    if (job == nullptr || !may_stage_early(driver, *job)) {
        return false;
    }
    Staging* const staging = staging_of(driver);
    const std::uint32_t room =
        staging != nullptr
            ? staging->count_empty(std::min(stretch_max, early_max - rank.early_pieces), is_held)
            : 0;
    if (room == 0) {
        return false;
    }
    const Staged staged = stage_pieces(driver, job, *staging, room, early_bytes_max, false);
    rank.early_pieces += staged.pieces;
    job->early_pieces += staged.pieces;
    // Who has matched it meanwhile takes pieces, too.
    if (staged.pieces == 0 || !job->has_pieces() ||
        job->total_bytes - job->left() >= early_bytes_max) {
        rank.offered.remove(job);
        job->is_offered = false;
    }
    return staged.pieces != 0;
}

int move_staged_only(Driver& driver)
{
    RankState& rank = driver.rank();
    if (!rank.invitations.is_empty()) {
        take_invitations(driver);
    }
    int moved = 0;
    // One at least: a thread that waits takes kept pieces out nowhere else.
    const std::uint64_t bytes_max = std::max<std::uint64_t>(driver.node().knobs.copy_at_once, 1);
    if (rank.kept_pieces != nullptr && deliver_those(driver, bytes_max, is_to_deliver) != 0) {
        ++moved;
    }
    if (driver.is_local() && !rank.invited_to_stage.is_empty()) {
        moved += stage_some(driver);
    }
    return moved;
}

std::uint64_t deliver_kept(Driver& driver, std::uint64_t bytes_max)
{
    return deliver_those(driver, bytes_max, can_deliver);
}

StagingSlot* take_kept(Driver& driver)
{
    constexpr std::uint32_t of_own_max = stretch_max / 2;
    const RankState* const own = driver.worker().own();
    StagingSlot* taken = nullptr;
    StagingSlot** link = &driver.rank().kept_pieces;
    for (std::uint32_t pieces = 0; *link != nullptr && pieces < of_own_max;) {
        StagingSlot* const slot = *link;
        const bool is_of_own = slot->kept.job->sender == own;
        if (!is_for_anybody(*slot->kept.job) || (pieces != 0 && !is_of_own)) {
            link = &slot->next_kept;
            continue;
        }
        *link = slot->next_kept;
        slot->next_kept = std::exchange(taken, slot);
        pieces += is_of_own ? 1 : of_own_max;
    }
    return taken;
}

void deliver_outside(Worker& worker, StagingSlot* taken)
{
    while (taken != nullptr) {
        StagingSlot* const next = taken->next_kept;
        const StagedPiece piece = taken->kept;  // the slot is its sender's once it is empty
        deliver_by_system(worker, piece);
        taken = next;
    }
}

void keep_early_pieces(Driver& driver, CopyJob* job)
{
    StagingSlot* slot = std::exchange(job->early, nullptr);
    while (slot != nullptr) {
        StagingSlot* const next = slot->next_kept;
        slot->next_kept = std::exchange(driver.rank().kept_pieces, slot);
        slot = next;
    }
}

bool keeps_pieces(const RankState& rank, bool for_own_process)
{
    for (const StagingSlot* slot = rank.kept_pieces; slot != nullptr; slot = slot->next_kept) {
        const CopyJob& job = *slot->kept.job;
        if (is_for_anybody(job) != for_own_process) {
            return true;
        }
    }
    return false;
}

bool has_to_stage(Driver& driver)
{
    const CopiesOfSender& jobs = driver.rank().invited_to_stage;
    const CopyJob* job = jobs.first();
    while (job != nullptr && !job->has_pieces()) {
        job = CopiesOfSender::after(job);
    }
    // Where there is no memory for slots, the messages end.
    Staging* const staging = driver.rank().staging;
    return job != nullptr && (staging == nullptr || staging->await_next(is_held) != nullptr);
}

void take_piece(Driver& driver, const transport::Frame& frame, std::uint32_t /*sender*/)
{
    const auto piece = frame.record<StagedPiece>();
    CopyJob* const job = piece.job;
    driver.rank().has_new_pieces = true;
    if (job->is_matched && is_to_deliver(driver, piece)) {
        deliver_piece(driver, piece);
        return;
    }
    StagingSlot*& kept = job->is_matched ? driver.rank().kept_pieces : job->early;
    piece.slot->kept = piece;
    piece.slot->next_kept = std::exchange(kept, piece.slot);
}

}  // namespace headway::engine
