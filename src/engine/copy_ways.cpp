// SPDX-License-Identifier: Apache-2.0
#include "engine/copy_ways.hpp"

#include <algorithm>

#include "engine/copy_bytes.hpp"
#include "engine/driver.hpp"
#include "engine/graph_instance.hpp"
#include "engine/staging.hpp"

namespace headway::engine {

namespace {

/// Whether the rank is in the middle of a long copy by the system, and will fill or see no slot
/// before its end.
bool is_copying(const RankState& rank)
{
    // Relaxed: a hint.
    return rank.is_copying.load(std::memory_order_relaxed) != 0;
}

/// Of all long messages that are under way together, to or from the driver's rank, the bytes.
std::uint64_t bytes_together(const RankState& rank, bool receives)
{
    return receives ? rank.copies.bytes_since_empty()
                    : rank.offered.bytes_since_empty() + rank.invited.bytes_since_empty();
}

/// Whether messages of so many bytes to or from the other rank are between cores that ask each
/// other for each line, and long enough for calls of the system. What the receiver finds out about
/// one comes later.
bool is_long_between(Node& node, const RankState& other, std::uint64_t bytes)
{
    constexpr std::uint64_t bytes_min = 128 * 1024;
    return node.asks_other_cores && bytes >= bytes_min && node.peer_memory.can_reach(other.process);
}

/// The same of a job's ranks, one of which is the driver's.
bool is_long_across(Driver& driver, const CopyJob& job)
{
    const RankState& other = &driver.rank() == job.receiver ? *job.sender : *job.receiver;
    return is_long_between(driver.node(), other, job.total_bytes);
}

/// Whether a message of is_long_across() had better be copied by the system than through slots: it
/// has a part for each rank, or was left to one that waits, or is one of a stream.
bool is_for_system_by_length(Driver& driver, const CopyJob& job)
{
    const RankState& rank = driver.rank();
    return job.has_two_parts() || job.asked.kind == transport::shm::Readable::alone ||
           bytes_together(rank, &rank == job.receiver) >= driver.node().copied_by_system_min;
}

/// Whether its ranks share cores: they do not copy at the same time, so that two copies of every
/// byte take twice what one does. Not where the receiver's process alone knows where it goes, so
/// that a sender who waits could do nothing else.
bool is_in_turns(Driver& driver, const CopyJob& job)
{
    Node& node = driver.node();
    const RankState& other = &driver.rank() == job.receiver ? *job.sender : *job.receiver;
    return node.is_oversubscribed && !job.is_staged_only && !job.has_target_of_its_own() &&
           node.peer_memory.can_reach(other.process);
}

/// Whether slots gain nothing for the message.
bool is_for_system(Driver& driver, const CopyJob& job)
{
    return is_in_turns(driver, job) ||
           (is_for_system_by_length(driver, job) && is_for_reading(driver, job));
}

/// Whether a message that is about to be offered may be copied by the system as a rule: nobody but
/// its ranks has to do with its bytes, the receiver is there to copy, and the ranks are not in an
/// exchange, which is read by rule.
bool may_be_read(Driver& driver, const Op& send, const transport::Place& source)
{
    Node& node = driver.node();
    const RankState& rank = driver.rank();
    const RankState& receiver = node.rank_state(send.peer);
    return node.is_plain && send.in_elements == InElements::no &&
           (send.graph == nullptr || send.graph->reduction.kind == data::ElementKind::none) &&
           is_long_between(node, receiver, send.size_bytes) &&
           may_offer_copy(driver, send, source) &&
           bytes_together(rank, false) + send.size_bytes < node.copied_by_system_min &&
           !expects_messages(rank) && was_inside_lately(node, receiver) &&
           // Relaxed: see ThreadsOfRank. What one of several threads reads, all others wait for.
           receiver.threads.are_several.load(std::memory_order_relaxed) == 0;
}

}  // namespace

bool is_ours_to_copy(Worker& worker, const CopyJob& job)
{
    Node& node = worker.node();
    if (job.is_staged_only) {
        return false;
    }
    if (job.has_elements() && !crosses(job)) {
        return job.receiver->process == node.own_process;  // and so does the sender's end
    }
    if (job.has_target_of_its_own()) {
        return job.receiver->process == node.own_process &&
               node.peer_memory.can_reach(job.source.process);
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

bool is_for_receiver(const CopyJob& job)
{
    return job.combination.is_there() ||
           (job.target_elements != nullptr && crosses(job) && !job.is_staged_only);
}

bool is_for_reading(Driver& driver, const CopyJob& job)
{
    return is_long_across(driver, job) && !job.has_target_of_its_own() && !job.is_staged_only;
}

bool may_stage_early(Driver& driver, const CopyJob& job)
{
    // One who has posted receives and computes may have this one's, and others match for it.
    if (!is_waiting(*job.receiver) && expects_messages(*job.receiver)) {
        return false;
    }
    return !is_long_across(driver, job) ||
           !(expects_messages(driver.rank()) || is_for_system_by_length(driver, job));
}

bool is_read_in_exchange(Driver& driver, const CopyJob& job)
{
    const RankState& rank = driver.rank();
    return &rank == job.receiver && (!rank.invited.is_empty() || !rank.offered.is_empty()) &&
           is_for_reading(driver, job);
}

std::uint64_t large_piece(const RankState& rank, const CopyJob& job, bool is_in_exchange)
{
    constexpr std::uint64_t large_piece_max = 8;  // of the knob copy_piece
    constexpr std::uint64_t whole_piece_max = 8 * large_piece_max;
    if (is_in_exchange || job.has_two_parts()) {
        return whole_piece_max * job.piece_bytes;
    }
    const RankState& other = &rank == job.receiver ? *job.sender : *job.receiver;
    const std::uint64_t largest = large_piece_max * job.piece_bytes;
    if (&other == &rank) {
        return largest;
    }
    if (job.left() == job.total_bytes) {
        return job.piece_bytes;
    }
    const std::uint64_t least = is_away(other) ? 2 * job.piece_bytes : job.piece_bytes;
    return std::clamp(job.left() / 2, least, largest);
}

bool is_to_stage(Driver& driver, const CopyJob& job)
{
    const RankState& receiver = *job.receiver;
    return &driver.rank() == job.sender && driver.is_owner() && crosses(job) &&
           (job.has_target_of_its_own() ? is_inside(driver.node(), receiver)
                                        : !is_away(receiver)) &&
           !(is_copying(receiver) && is_for_reading(driver, job)) && !is_for_system(driver, job);
}

bool leaves_to_sender(Driver& driver, const CopyJob& job)
{
    constexpr std::uint32_t looks_max = 1000;
    constexpr std::uint32_t looks_max_away = 10;
    if (driver.node().is_oversubscribed || !driver.is_owner() || !crosses(job) ||
        is_read_in_exchange(driver, job) || is_for_system(driver, job) || is_copying(*job.sender)) {
        return false;
    }
    return driver.rank().looks_without_piece <
           (is_inside(driver.node(), *job.sender) ? looks_max : looks_max_away);
}

PieceEnd end_for(const CopyJob& job, const RankState* own)
{
    const bool is_higher =
        own == (job.sender->rank > job.receiver->rank ? job.sender : job.receiver);
    return is_higher ? PieceEnd::back : PieceEnd::front;
}

transport::shm::ReadingAsked choose_reading(Driver& driver, const Op& send,
                                            const transport::Place& source)
{
    using transport::shm::Readable;
    RankState& rank = driver.rank();
    transport::shm::Lane* const lane = rank.peers[send.peer].lane;
    if (lane == nullptr || !may_be_read(driver, send, source)) {
        return {};
    }
    Staging* const staging = rank.staging;
    // Asked for in any case: what is known of a time before is not to be compared with.
    const std::uint64_t lately = staging != nullptr ? staging->take_least_cost() : 0;
    const std::uint64_t cost = staging != nullptr ? staging->cost() : 0;
    for (const Readable kind : {Readable::halves, Readable::alone}) {
        if (lane->is_next_read(kind, cost)) {
            return lane->offer_for_reading(kind);
        }
    }
    lane->note_staged(lately);
    return {};
}

void tell_reading(Driver& driver, const CopyJob& job, Piece piece,
                  transport::shm::ReadingTicks ticks)
{
    using transport::shm::Readable;
    using transport::shm::ReadingChoice;
    const bool is_begin = piece.from == 0 || piece.from == job.second_part;
    if (job.asked.number == 0 || !is_begin || piece.bytes < ReadingChoice::bytes_min) {
        return;
    }
    const RankState& rank = driver.rank();
    const bool is_own = (piece.from == 0) == (end_for(job, &rank) == PieceEnd::front);
    if (&rank == job.sender) {
        if (!is_own) {
            rank.peers[job.receiver->rank].lane->note_both_halves();
        }
        return;
    }
    transport::shm::Lane* const lane = driver.lane_from(job.sender->rank);
    if (lane == nullptr) {
        return;
    }
    auto told = ReadingChoice::told(job.asked.number, piece.bytes, ticks);
    if (!is_own) {
        told.from = transport::shm::ReadFrom::both_halves;
    }
    lane->tell_reading(Readable::halves, told);
}

}  // namespace headway::engine
