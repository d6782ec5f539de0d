// SPDX-License-Identifier: Apache-2.0
#include "engine/copy_bytes.hpp"

#include <algorithm>

#include "data/type_program.hpp"
#include "engine/node.hpp"
#include "engine/worker.hpp"
#include "platform/cpu.hpp"
#include "platform/hardware.hpp"
#include "platform/line_transfer.hpp"
#include "platform/memory_copy.hpp"
#include "platform/process.hpp"
#include "platform/streaming_copy.hpp"

namespace headway::engine {

namespace {

/// What the match counts, beside the bytes.
constexpr std::uint64_t match_units = 1;

/// From this length of runs on the system moves them as a list; shorter ones take longer there
/// than a copy more does.
constexpr std::uint64_t listed_run_bytes = 1024;

/// What is moved at once by a copy more: it stays in the cache nearest to the core.
constexpr std::uint64_t load_bytes = 16 * 1024;

/// Runs of elements from a byte of their stream on.
struct ListedRuns {
    ListedRuns(const data::TypedElements& elements, std::uint64_t from, std::uint64_t to)
        : size(data::list_runs(elements, from, to, room))
    {
        for (const std::span<std::byte> run : runs()) {
            bytes += run.size();
        }
    }

    std::span<const std::span<std::byte>> runs() const { return std::span(room).first(size); }
    bool are_long() const { return bytes >= size * listed_run_bytes; }

    std::span<std::byte> room[64];
    std::size_t size;
    std::uint64_t bytes = 0;
};

/// Calls move_runs(runs, at) for long runs of the elements and move_load(at, bytes) for others,
/// which are `load_bytes` at most.
template <typename MoveRuns, typename MoveLoad>
transport::CopyOutcome move_elements(const data::TypedElements& elements, std::uint64_t from,
                                     std::uint64_t bytes, MoveRuns&& move_runs,
                                     MoveLoad&& move_load)
{
    const std::uint64_t end = from + bytes;
    bool are_long = elements.program.first_run_bytes() >= listed_run_bytes;
    auto outcome = transport::CopyOutcome::done;
    while (from < end && outcome == transport::CopyOutcome::done) {
        if (are_long) {
            const ListedRuns listed(elements, from, end);
            are_long = listed.are_long();
            if (are_long) {
                outcome = move_runs(listed.runs(), from);
                from += listed.bytes;
                continue;
            }
        }
        const std::uint64_t load = std::min(load_bytes, end - from);
        outcome = move_load(from, load);
        from += load;
    }
    return outcome;
}

/// Whether a process, which copies reached before, is no more.
bool has_ended(const Node& node, std::uint32_t process)
{
    return process != node.own_process && process != transport::Place::everywhere &&
           !platform::process_exists(node.directory.processes[process].process_id);
}

/// The message is over: its ops are complete, its reference is gone.
void finish(Worker& worker, CopyJob* job)
{
    // Relaxed: ordered by the exchange on `counted` that made us the last.
    const auto error = static_cast<OpError>(job->error.load(std::memory_order_relaxed));
    if (error != OpError::none) {
        job->receive->error = error;
    }
    worker.complete(job->receive);
    if (Op* const send = job->send; send != nullptr) {
        send->error = error != OpError::none ? error : send->error;
        worker.complete(send);
    }
    drop_reference(worker, job);
}

void count(Worker& worker, CopyJob* job, std::uint64_t units)
{
    // (1) acq_rel, pairs with itself: the last one to finish has all pieces and passes them on
    // with the ops' words.
    const std::uint64_t before = job->counted.fetch_add(units, std::memory_order_acq_rel);
    if (before + units == job->total_bytes + match_units) {
        finish(worker, job);
    }
}

bool has_left_lately(const RankState& rank) noexcept
{
    // In units of that clock: a microsecond or two.
    constexpr std::uint64_t lately = 5000;
    // Relaxed: a hint. Where the clocks of cores differ, it says no too often.
    return platform::ticks() - rank.left_at.load(std::memory_order_relaxed) < lately;
}

/// Of a whole message. What the caches hold is looked up once it may matter: that takes longer than
/// a message of some KiB.
bool goes_past_caches(std::uint64_t message_bytes)
{
    if (message_bytes < streamed_bytes_min(0)) {
        return false;
    }
    static const std::uint64_t least = streamed_bytes_min(platform::last_cache_bytes());
    return message_bytes >= least;
}

}  // namespace

bool is_away(const RankState& rank) noexcept
{
    // Relaxed: a hint.
    return rank.waiting_threads.load(std::memory_order_relaxed) == 0;
}

bool is_waiting(const RankState& rank) noexcept
{
    return !is_away(rank) ||
           rank.is_looking.load(std::memory_order_relaxed) != 0;  // relaxed: likewise
}

bool is_inside(const Node& node, const RankState& rank) noexcept
{
    return !is_away(rank) ||
           (node.knobs.progress != config::ProgressChoice::none && rank.ownership.is_owned());
}

bool was_waiting_lately(const RankState& rank) noexcept
{
    return is_waiting(rank) || has_left_lately(rank);
}

bool was_inside_lately(const Node& node, const RankState& rank) noexcept
{
    return is_inside(node, rank) || has_left_lately(rank);
}

bool crosses(const CopyJob& job) noexcept
{
    return job.source.process != job.receiver->process &&
           job.source.process != transport::Place::everywhere && job.sender != job.receiver;
}

void drop_reference(Worker& worker, CopyJob* job)
{
    // (2) acq_rel, pairs with itself: what all did with the job comes before it is freed.
    if (job->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        worker.allocator().free(job);
    }
}

void count_match(Worker& worker, CopyJob* job)
{
    count(worker, job, match_units);
}

void count_bytes(Worker& worker, CopyJob* job, std::uint64_t bytes, OpError error)
{
    if (error != OpError::none) {
        // Relaxed: published by the exchange below.
        job->error.store(static_cast<std::uint32_t>(error), std::memory_order_relaxed);
    }
    count(worker, job, bytes);
}

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
    if (job->combination.is_there()) {
        counters.bytes_combined.fetch_add(bytes, std::memory_order_relaxed);
    }
    count_bytes(worker, job, bytes,
                outcome == transport::CopyOutcome::done ? OpError::none : OpError::bad_address);
}

transport::CopyOutcome copy_measured(Node& node, const transport::Place& target,
                                     const transport::Place& source, std::uint64_t bytes,
                                     bool twice, transport::shm::ReadingTicks* ticks)
{
    const std::uint64_t begin = platform::ticks();
    const transport::CopyOutcome outcome = node.peer_memory.copy(target, source, bytes);
    const std::uint64_t end = platform::ticks();
    ticks->first = end - begin;
    if (twice && outcome == transport::CopyOutcome::done &&
        node.peer_memory.copy(target, source, bytes) == transport::CopyOutcome::done) {
        ticks->again = platform::ticks() - end;
    }
    return outcome;
}

void read_source(const CopyJob& job, std::uint64_t from, std::uint64_t bytes, std::byte* target)
{
    if (job.source_elements != nullptr) {
        data::pack(*job.source_elements, from, from + bytes, target);
    } else {
        platform::copy_memory(target, job.source.address + from, bytes);
    }
}

void write_target(const CopyJob& job, std::uint64_t from, std::uint64_t bytes,
                  const std::byte* source, bool is_cached)
{
    if (job.combination.is_there()) {
        combine(job.combination, from, bytes, source, job.target.address + from);
    } else if (job.target_elements != nullptr) {
        data::unpack(*job.target_elements, from, from + bytes, source);
    } else if (goes_past_caches(job.total_bytes)) {
        platform::copy_streaming(job.target.address + from, source, bytes);
    } else {
        platform::copy_arrived(job.target.address + from, source, bytes, is_cached);
    }
}

transport::CopyOutcome fetch_bytes(Node& node, const CopyJob& job, std::uint64_t from,
                                   std::uint64_t bytes)
{
    const std::byte* const begin = job.source.address;
    const std::uint32_t process = job.source.process;
    if (process == node.own_process || process == transport::Place::everywhere) {
        write_target(job, from, bytes, begin + from);
        return transport::CopyOutcome::done;
    }
    const auto fetch_load = [&](std::uint64_t at, std::uint64_t now) {
        alignas(platform::cache_line_bytes) std::byte load[load_bytes];
        const auto outcome = node.peer_memory.copy({load, node.own_process},
                                                   {job.source.address + at, process}, now);
        if (outcome == transport::CopyOutcome::done) {
            write_target(job, at, now, load);
        }
        return outcome;
    };
    if (job.target_elements != nullptr) {
        const auto fetch_runs = [&](std::span<const std::span<std::byte>> runs, std::uint64_t at) {
            return node.peer_memory.read(process, begin + at, runs);
        };
        return move_elements(*job.target_elements, from, bytes, fetch_runs, fetch_load);
    }
    auto outcome = transport::CopyOutcome::done;
    for (std::uint64_t done = 0; done < bytes && outcome == transport::CopyOutcome::done;
         done += load_bytes) {
        outcome = fetch_load(from + done, std::min(load_bytes, bytes - done));
    }
    return outcome;
}

transport::CopyOutcome store_bytes(Node& node, const CopyJob& job, std::uint64_t from,
                                   std::uint64_t bytes)
{
    std::byte* const begin = job.target.address;
    const std::uint32_t process = job.target.process;
    const auto store_runs = [&](std::span<const std::span<std::byte>> runs, std::uint64_t at) {
        return node.peer_memory.write(process, runs, begin + at);
    };
    const auto store_load = [&](std::uint64_t at, std::uint64_t now) {
        alignas(platform::cache_line_bytes) std::byte load[load_bytes];
        read_source(job, at, now, load);
        return node.peer_memory.copy({begin + at, process}, {load, node.own_process}, now);
    };
    return move_elements(*job.source_elements, from, bytes, store_runs, store_load);
}

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
    // Both ends have gaps.
    std::byte load[load_bytes];
    for (std::uint64_t done = 0; done < bytes; done += load_bytes) {
        const std::uint64_t now = std::min<std::uint64_t>(load_bytes, bytes - done);
        read_source(job, from + done, now, load);
        write_target(job, from + done, now, load);
    }
}

}  // namespace headway::engine
