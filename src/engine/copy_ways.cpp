// SPDX-License-Identifier: Apache-2.0
#include "engine/copy_ways.hpp"

#include <algorithm>

#include "engine/copy_bytes.hpp"
#include "engine/driver.hpp"
#include "engine/graph_instance.hpp"
#include "engine/staging.hpp"

namespace headway::engine {

namespace {

/// Whether the rank is in the middle of a long read, and will see no slot before its end.
bool is_reading(const RankState& rank)
{
    // Relaxed: a hint.
    return rank.is_reading.load(std::memory_order_relaxed) != 0;
}

/// Of all long messages that are under way together, to or from the driver's rank, the bytes.
std::uint64_t bytes_together(const RankState& rank, bool receives)
{
    return receives ? rank.copies.bytes_since_empty()
                    : rank.offered.bytes_since_empty() + rank.invited.bytes_since_empty();
}

/// Whether the message is between ranks whose cores ask each other for each line, and long enough
/// for calls of the system. What the receiver finds out about it comes later.
bool is_long_across(Driver& driver, const CopyJob& job)
{
    constexpr std::uint64_t bytes_min = 128 * 1024;
    Node& node = driver.node();
    const RankState& other = &driver.rank() == job.receiver ? *job.sender : *job.receiver;
    return node.asks_other_cores && job.total_bytes >= bytes_min &&
           node.peer_memory.can_reach(other.process);
}

/// Whether both ranks had better copy such a message by the system than through slots: it has a
/// part for each of them, or is one of a stream.
bool is_for_both_by_length(Driver& driver, const CopyJob& job)
{
    const RankState& rank = driver.rank();
    return job.has_two_parts() ||
           bytes_together(rank, &rank == job.receiver) >= driver.node().copied_by_system_min;
}

/// Whether slots only cost more: ranks that take turns on a core do not copy at the same time, so
/// two copies of every byte take twice what one does.
bool is_better_by_system(Driver& driver, const CopyJob& job)
{
    Node& node = driver.node();
    const RankState& other = &driver.rank() == job.receiver ? *job.sender : *job.receiver;
    return node.is_oversubscribed && !job.is_staged_only &&
           node.peer_memory.can_reach(other.process);
}

bool is_for_both(Driver& driver, const CopyJob& job)
{
    return is_for_both_by_length(driver, job) && is_for_reading(driver, job);
}

/// Whether the message may have a part for each rank: nobody but them has to do with its bytes, the
/// receiver is there to copy its part, and the ranks are not in an exchange, which is read by rule.
bool may_have_parts(Driver& driver, const CopyJob& job)
{
    Node& node = driver.node();
    const GraphInstance* const graph = job.send->graph;
    return node.is_plain && job.source_elements == nullptr &&
           (graph == nullptr || graph->reduction.kind == data::ElementKind::none) &&
           bytes_together(driver.rank(), false) + job.total_bytes < node.copied_by_system_min &&
           is_long_across(driver, job) && !expects_messages(driver.rank()) &&
           was_inside_lately(node, *job.receiver) &&
           // Relaxed: see ThreadsOfRank. What one of several threads reads, all others wait for.
           job.receiver->threads.are_several.load(std::memory_order_relaxed) == 0;
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
    if (is_better_by_system(driver, job)) {
        return false;
    }
    return !is_long_across(driver, job) ||
           !(expects_messages(driver.rank()) || is_for_both_by_length(driver, job));
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
    const std::uint64_t left = job.left();
    const RankState& other = &rank == job.receiver ? *job.sender : *job.receiver;
    const bool is_alone = &other == &rank || is_away(other);
    return std::clamp(is_alone ? left : left / 2, job.piece_bytes,
                      large_piece_max * job.piece_bytes);
}

bool is_to_stage(Driver& driver, const CopyJob& job)
{
    const RankState& receiver = *job.receiver;
    return &driver.rank() == job.sender && driver.is_owner() && crosses(job) &&
           (job.has_target_of_its_own() ? is_inside(driver.node(), receiver)
                                        : !is_away(receiver)) &&
           !is_reading(receiver) && !is_for_both(driver, job) && !is_better_by_system(driver, job);
}

bool leaves_to_sender(Driver& driver, const CopyJob& job)
{
    constexpr std::uint32_t looks_max = 1000;
    constexpr std::uint32_t looks_max_away = 10;
    if (driver.node().is_oversubscribed || !driver.is_owner() || !crosses(job) ||
        is_read_in_exchange(driver, job) || is_for_both(driver, job) ||
        (is_reading(*job.sender) && is_for_reading(driver, job))) {
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

void choose_parts(Driver& driver, CopyJob* job)
{
    using transport::shm::Readable;
    RankState& rank = driver.rank();
    transport::shm::Lane* const lane = rank.peers[job->receiver->rank].lane;
    if (lane == nullptr || !may_have_parts(driver, *job)) {
        return;
    }
    Staging* const staging = rank.staging;
    // Asked for in any case: what is known of a time before is not to be compared with.
    const std::uint64_t lately = staging != nullptr ? staging->take_least_cost() : 0;
    if (lane->is_next_read(Readable::halves, staging != nullptr ? staging->cost() : 0)) {
        job->second_part = aligned_piece(job->total_bytes / 2);
        job->asked = lane->offer_for_reading(Readable::halves);
    } else {
        lane->note_staged(lately);
    }
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
