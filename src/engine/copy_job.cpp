// SPDX-License-Identifier: Apache-2.0
#include "engine/copy_job.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/copy_bytes.hpp"
#include "engine/copy_ways.hpp"
#include "engine/driver.hpp"
#include "engine/staged_pieces.hpp"

namespace headway::engine {

namespace {

/// Offered messages of a rank that have a job before they are matched.
constexpr std::uint32_t offered_max = 64;

/// While it lives, a thread of the rank is in a long copy by the system, by which a peer guesses
/// whether it will deal with slots soon.
class CopyingBySystem {
  public:
    /// Null: of no rank, or not long.
    explicit CopyingBySystem(RankState* rank) noexcept : rank_(rank) { set(1); }
    ~CopyingBySystem() { set(0); }
    CopyingBySystem(const CopyingBySystem&) = delete;
    CopyingBySystem& operator=(const CopyingBySystem&) = delete;

  private:
    void set(std::uint32_t value) noexcept
    {
        if (rank_ != nullptr) {
            rank_->is_copying.store(value, std::memory_order_relaxed);  // relaxed: a hint
        }
    }

    RankState* rank_;
};

/// Takes and copies `wanted` bytes or a few more at most; none if none was left. Measures that
/// where there is something to write the ticks to. Requires: is_ours_to_copy(). The caller has a
/// reference.
Piece copy_piece(Worker& worker, CopyJob* job, std::uint64_t wanted,
                 transport::shm::ReadingTicks* ticks = nullptr)
{
    const Piece piece = job->take(aligned_piece(wanted), end_for(*job, worker.own()));
    const auto [from, bytes] = piece;
    if (bytes == 0) {
        return piece;
    }
    if (job->has_elements() && !crosses(*job)) {
        copy_elements(*job, from, bytes);
        count_bytes(worker, job, bytes, OpError::none);
        return piece;
    }
    const std::uint64_t fitting = job->fitting(from, bytes);
    const transport::Place source{job->source.address + from, job->source.process};
    const transport::Place target{job->target.address + from, job->target.process};
    auto outcome = transport::CopyOutcome::done;
    if (job->has_target_of_its_own()) {
        outcome = fetch_bytes(worker.node(), *job, from, fitting);
    } else if (ticks != nullptr) {
        outcome =
            copy_measured(worker.node(), target, source, fitting, job->asked.is_checked, ticks);
    } else if (fitting != 0) {
        outcome = worker.node().peer_memory.copy(target, source, fitting);
    }
    account(worker, job, target, source, bytes, outcome);
    return piece;
}

/// Whether the driver's rank can copy a piece, or stage it for one who alone knows where it goes.
bool is_ours_to_move(Driver& driver, const CopyJob& job)
{
    return is_ours_to_copy(driver.worker(), job) ||
           (job.has_target_of_its_own() && is_to_stage(driver, job));
}

/// Stages the next piece where both ranks wait and there is room, else copies it; its bytes.
std::uint64_t move_piece(Driver& driver, CopyJob* job, std::uint64_t bytes_max)
{
    if (is_to_stage(driver, *job)) {
        if (const std::uint64_t staged = try_stage(driver, job, bytes_max); staged != 0) {
            return staged;
        }
    }
    if (!is_ours_to_copy(driver.worker(), *job)) {
        return 0;
    }
    RankState& rank = driver.rank();
    const bool is_in_exchange = is_read_in_exchange(driver, *job);
    const std::uint64_t bytes = std::min(large_piece(rank, *job, is_in_exchange), bytes_max);
    const bool reads = &rank == job->receiver && is_for_reading(driver, *job);
    const CopyingBySystem copying(bytes > job->piece_bytes ? &rank : nullptr);
    transport::shm::ReadingTicks ticks;
    const bool is_asked = job->asked.number != 0 && driver.is_owner();
    const Piece piece =
        copy_piece(driver.worker(), job, bytes, is_asked && reads ? &ticks : nullptr);
    if (is_asked) {
        tell_reading(driver, *job, piece, ticks);
    }
    return piece.bytes;
}

template <typename List>
void let_go(Worker& worker, List& list, CopyJob* job)
{
    list.remove(job);
    drop_reference(worker, job);
}

/// Takes jobs without pieces off the front of the list. Most end in its order; the others wait.
template <typename List>
void trim(Worker& worker, List& list)
{
    while (!list.is_empty() && !list.first()->has_pieces()) {
        let_go(worker, list, list.first());
    }
}

/// The first job with pieces that holds; null if there is none.
template <typename List, typename Holds>
CopyJob* find_in(const List& list, Holds&& holds)
{
    for (CopyJob* job = list.first(); job != nullptr; job = List::after(job)) {
        if (job->has_pieces() && holds(*job)) {
            return job;
        }
    }
    return nullptr;
}

/// The job of the rank, as the receiver, that whoever waits in it is to go on with. To look at all
/// in each sweep would take their lines from the senders that stage pieces of them.
CopyJob* next_of_receiver(Driver& driver)
{
    constexpr int jobs_a_look = 2;
    RankState& rank = driver.rank();
    CopiesOfReceiver& copies = rank.copies;
    if (std::exchange(rank.has_new_pieces, false)) {
        rank.looks_without_piece = 0;
        return nullptr;  // the senders are at it
    }
    ++rank.looks_without_piece;
    for (int look = 0; look < jobs_a_look && !copies.is_empty();) {
        CopyJob* const job = copies.first();
        if (!job->has_pieces()) {
            let_go(driver.worker(), copies, job);
            continue;
        }
        if (is_ours_to_copy(driver.worker(), *job) && !leaves_to_sender(driver, *job)) {
            return job;
        }
        copies.turn();  // nothing can be done for it now: what has ended behind it goes, too
        ++look;
    }
    return nullptr;
}

template <typename List>
CopyJob* any_of(Driver& driver, List& list)
{
    const auto is_ours = [&](const CopyJob& job) { return is_ours_to_move(driver, job); };
    CopyJob* const job = find_in(list, is_ours);
    if (!list.is_empty() && job != list.first()) {
        list.turn();
    }
    return job;
}

CopyJob* next_job(Driver& driver, CopyShare share)
{
    RankState& rank = driver.rank();
    Worker& worker = driver.worker();
    if (!rank.invitations.is_empty()) {
        take_invitations(driver);
    }
    trim(worker, rank.copies);
    if (!rank.copies.is_empty()) {
        CopyJob* const job =
            share == CopyShare::any ? any_of(driver, rank.copies) : next_of_receiver(driver);
        if (job != nullptr) {
            return job;
        }
    }
    trim(worker, rank.invited);
    return share != CopyShare::own
               ? any_of(driver, rank.invited)
               : find_in(rank.invited, [&](const CopyJob& job) {
                     return !is_away(*job.receiver) && is_ours_to_move(driver, job);
                 });
}

/// Whether what arrives may be combined on its way: its sender is here to stage it, and the receive
/// has room for it and nothing else.
bool is_to_combine(Driver& driver, const CopyJob& job)
{
    return crosses(job) && !job.has_elements() && !driver.node().is_oversubscribed &&
           job.room_bytes == job.total_bytes && job.room_bytes == job.receive->size_bytes &&
           is_inside(driver.node(), *job.sender);
}

/// Whether a sender that does not wait, invited to copies of the driver's rank, looks at its
/// invitations soon: it is in a call, perhaps about to wait, and with its bell rung it leaves only
/// after a look.
bool sees_invitations(Driver& driver, RankState& sender)
{
    if (!is_inside(driver.node(), sender)) {
        return false;
    }
    driver.worker().ring(sender);
    // Had it left before the bell, it was to be called for (see Worker::ring).
    return is_inside(driver.node(), sender);
}

/// A new job of a message; null: the node heap is exhausted.
CopyJob* make_job(Driver& driver, RankState& sender, RankState& receiver, transport::Place source,
                  std::uint64_t bytes)
{
    void* place = driver.allocator().allocate(sizeof(CopyJob));
    if (place == nullptr) {
        return nullptr;
    }
    auto* job = new (place) CopyJob;
    job->sender = &sender;
    job->receiver = &receiver;
    job->source = source;
    job->total_bytes = bytes;
    job->second_part = bytes;
    job->piece_bytes = driver.node().knobs.copy_piece;
    // Relaxed: nobody else knows the job yet.
    job->references.store(&sender != &receiver ? 3 : 2, std::memory_order_relaxed);
    return job;
}

/// Of a message; null: the node heap is exhausted.
CopyJob* make_job_of(Driver& driver, Op* send, RankState& receiver, transport::Place source,
                     std::uint64_t bytes)
{
    CopyJob* const job = make_job(driver, *send->owner, receiver, source, bytes);
    if (job != nullptr) {
        job->send = send;
        if (send->in_elements == InElements::yes) {
            job->source_elements = send->elements;
        }
    }
    return job;
}

/// The job, whose target is known now, begins: it hangs in the driver's rank, and the sender is
/// invited.
void begin(Driver& driver, CopyJob* job)
{
    RankState& rank = driver.rank();
    job->is_staged_only =
        crosses(*job) && (job->source_elements != nullptr ||
                          !driver.node().peer_memory.can_reach(job->source.process));
    if (!job->combination.is_there() && is_to_combine(driver, *job)) {
        job->combination = take_combination(*job->receive, &job->target.address);
    }
    job->is_matched = true;
    keep_early_pieces(driver, job);
    trim(driver.worker(), rank.copies);
    if (rank.copies.is_empty()) {
        rank.looks_without_piece = 0;
    }
    rank.copies.push_back(job);
    RankState& sender = *job->sender;
    if (&sender != &rank) {
        sender.invitations.push(&job->invitation);
        if (job->is_staged_only) {
            driver.worker().ring(sender);
        } else {
            sender.ownership.notify_parked();
        }
    }
    count_match(driver.worker(), job);
}

}  // namespace

bool may_offer_copy(Driver& driver, const Op& send, const transport::Place& source)
{
    Node& node = driver.node();
    const RankState& rank = driver.rank();
    return !node.is_oversubscribed && !node.schedule.withholds() &&
           node.rank_state(send.peer).process != rank.process &&
           source.process != transport::Place::everywhere &&
           send.size_bytes > node.knobs.copy_at_once && rank.offered.size() != offered_max;
}

void offer_copy(Driver& driver, Op* send, transport::Place source,
                transport::shm::ReadingAsked asked)
{
    RankState& rank = driver.rank();
    if (!may_offer_copy(driver, *send, source)) {
        return;
    }
    CopyJob* const job =
        make_job_of(driver, send, driver.node().rank_state(send->peer), source, send->size_bytes);
    if (job == nullptr) {
        return;
    }
    if (asked.number != 0) {
        job->second_part = aligned_piece(job->total_bytes / 2);
        job->asked = asked;
    }
    job->is_offered = true;
    rank.offered.push_back(job);
    send->copy_job = job;
}

void take_invitations(Driver& driver)
{
    RankState& rank = driver.rank();
    sync::ListLink* link = rank.invitations.take_all();
    while (link != nullptr) {
        sync::ListLink* const next = link->next;
        auto* job = reinterpret_cast<CopyJob*>(link);
        if (job->is_offered) {
            rank.offered.remove(job);
            job->is_offered = false;
        }
        rank.early_pieces -= job->early_pieces;
        // Relaxed: read by this rank's executors only.
        job->is_invited.store(true, std::memory_order_relaxed);
        (job->is_staged_only ? rank.invited_to_stage : rank.invited).push_back(job);
        link = next;
    }
}

bool start_copy(Driver& driver, Op* receive, Op* send, transport::Place source,
                transport::Place target, std::uint64_t bytes, transport::shm::Readable kind)
{
    CopyJob* job = send->copy_job;
    if (job == nullptr) {
        job = make_job_of(driver, send, driver.rank(), source, bytes);
        if (job == nullptr) {
            return false;
        }
        job->asked.kind = kind;
    }
    job->receive = receive;
    job->target = target;
    job->room_bytes = bytes;
    if (receive->in_elements == InElements::possible) {
        receive->in_elements = InElements::yes;
        job->target_elements = receive->elements;
    }
    begin(driver, job);
    return true;
}

bool start_peer_copy(Driver& driver, Op* receive, RankState& peer, transport::Place source,
                     const Combination& combination)
{
    CopyJob* const job = make_job(driver, peer, driver.rank(), source, receive->size_bytes);
    if (job == nullptr) {
        return false;
    }
    job->receive = receive;
    job->target = driver.place_of(receive->address);
    job->room_bytes = receive->size_bytes;
    job->combination = combination;
    begin(driver, job);
    return true;
}

std::uint64_t copy_some(Driver& driver, std::uint64_t bytes_max)
{
    std::uint64_t copied = 0;
    while (driver.rank().kept_pieces != nullptr && copied < bytes_max) {
        const std::uint64_t delivered = deliver_kept(driver, bytes_max - copied);
        if (delivered == 0) {
            break;
        }
        copied += delivered;
    }
    while (copied < bytes_max) {
        CopyJob* const job = next_job(driver, CopyShare::any);
        if (job == nullptr) {
            break;
        }
        const std::uint64_t moved = move_piece(driver, job, bytes_max - copied);
        if (moved == 0 && job->has_pieces()) {
            break;  // the slots are full, and it can go no other way
        }
        copied += moved;
    }
    return copied;
}

bool copy_next(Driver& driver, CopyShare share)
{
    CopyJob* const job = next_job(driver, share);
    if (job == nullptr) {
        return driver.is_owner() && stage_early(driver);
    }
    return move_piece(driver, job, UINT64_MAX) != 0;
}

bool has_pieces_for_own_process(Driver& driver)
{
    const RankState& rank = driver.rank();
    const auto needs_it = [](const CopyJob& job, const RankState& other) {
        return job.has_elements() && !crosses(job) && is_away(other);
    };
    // A sender that waits stages nothing for a receiver that is away, and cannot write there.
    const auto receiver_needs_it = [&](const CopyJob& job) {
        return is_for_receiver(job) || needs_it(job, *job.sender);
    };
    if (keeps_pieces(rank, true) || find_in(rank.copies, receiver_needs_it) != nullptr ||
        find_in(rank.invited, [&](const CopyJob& job) { return needs_it(job, *job.receiver); })) {
        return true;
    }
    return has_to_stage(driver);
}

CopyJob* find_copy(Driver& driver)
{
    CopyJob* const job = next_job(driver, CopyShare::any);
    if (job == nullptr || !is_ours_to_copy(driver.worker(), *job)) {
        return nullptr;
    }
    // Relaxed: the list's own reference keeps the job meanwhile.
    job->references.fetch_add(1, std::memory_order_relaxed);
    return job;
}

void copy_outside(Worker& worker, CopyJob* job)
{
    RankState* const own = worker.own();
    const bool is_own = own != nullptr && (own == job->sender || own == job->receiver);
    const std::uint64_t bytes = is_own ? large_piece(*own, *job, false) : job->piece_bytes;
    const CopyingBySystem copying(bytes > job->piece_bytes ? own : nullptr);
    (void)copy_piece(worker, job, bytes);
    drop_reference(worker, job);
}

bool has_unattended_copies(Driver& driver, bool may_ring)
{
    RankState& rank = driver.rank();
    if (!rank.invitations.is_empty()) {
        take_invitations(driver);
    }
    trim(driver.worker(), rank.copies);
    trim(driver.worker(), rank.invited);
    trim(driver.worker(), rank.invited_to_stage);
    // A sender that stops waiting leaves behind what it was invited to. One that waits stages
    // nothing for a receiver that is away.
    const auto has_no_sender = [&](const CopyJob& job) {
        return !job.is_staged_only &&
               (is_for_receiver(job) ||
                (is_away(*job.sender) && !(may_ring && sees_invitations(driver, *job.sender))));
    };
    const auto has_no_receiver = [](const CopyJob& job) {
        return is_away(*job.receiver) && !is_for_receiver(job);
    };
    return keeps_pieces(rank, false) || find_in(rank.copies, has_no_sender) != nullptr ||
           find_in(rank.invited, has_no_receiver) != nullptr;
}

}  // namespace headway::engine
