// SPDX-License-Identifier: Apache-2.0
#include "engine/standstill.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.hpp"
#include "platform/call_site.hpp"
#include "platform/fatal.hpp"
#include "platform/futex.hpp"
#include "platform/process.hpp"

namespace headway::engine {

namespace {

/// What grows whenever a rank wakes, for each rank.
using Pulse = std::vector<std::uint64_t>;

/// For ranks that do not come to tell.
constexpr std::int64_t patience_ns = 5'000'000'000;

bool is_asleep(const RankState* rank)
{
    return rank != nullptr && rank->ownership.is_asleep();
}

/// Whether one of the `count` ranks behind this one is awake, or about to be: it will look around
/// itself when it lies down. Of ranks that were all woken at once, those behind this one most
/// probably have not run yet.
bool is_another_awake(const Directory& directory, std::uint32_t own, std::uint32_t count)
{
    for (std::uint32_t step = 1; step <= count; ++step) {
        const std::uint32_t rank = (own + step) % directory.rank_count;
        if (rank != own && !directory.ended.has(rank) && !is_asleep(directory.ranks[rank])) {
            return true;
        }
    }
    return false;
}

/// Whether the last one to fall asleep looks around. Frames that are withheld ring nobody's bell,
/// and simulations see to themselves.
/// The next rank is asked first: a line that this core has, mostly, where the sets are changed by
/// all of them.
bool may_stand_still(Node& node, std::uint32_t own)
{
    // Relaxed: written before the rank communicates.
    return node.knobs.deadlock_ms != 0 && node.is_plain && node.network == nullptr &&
           !is_another_awake(node.directory, own, 1) &&
           node.directory.idle.covers_with(node.directory.ended, node.directory.rank_count) &&
           !is_another_awake(node.directory, own, node.directory.rank_count);
}

/// An agent that was never started, or sleeps until it is rung.
bool is_agent_asleep(const ProcessEntry& process)
{
    const sync::OwnershipWord& bed = process.agent_bed;
    return bed.is_free() || (bed.is_parked() && !bed.is_rung());
}

/// The threads of a rank that sleep, if that is all that its process has but the library's own.
/// Nothing: there is another one, which may compute and call MPI at any time, or is about to wake.
std::optional<std::uint32_t> count_asleep(const Directory& directory, const RankState& rank)
{
    // Relaxed: see ThreadsOfRank.
    if (rank.threads.are_several.load(std::memory_order_relaxed) == 0) {
        return 1;
    }
    for (std::uint32_t i = 0; i < directory.rank_count; ++i) {
        if (i != rank.rank && directory.ranks[i]->process == rank.process) {
            return std::nullopt;  // threads of whose rank nobody knows
        }
    }
    const ProcessEntry& process = directory.processes[rank.process];
    const std::int32_t beside = rank.threads.asleep.load(std::memory_order_relaxed);
    const auto own = static_cast<int>(process.own_threads.load(std::memory_order_relaxed));
    if (beside < 0 || platform::count_threads(process.process_id) != 1 + beside + own) {
        return std::nullopt;
    }
    return 1 + static_cast<std::uint32_t>(beside);
}

bool are_agents_asleep(const Directory& directory, Pulse& pulse)
{
    for (std::uint32_t i = 0; i < directory.process_count; ++i) {
        if (!is_agent_asleep(directory.processes[i])) {
            return false;
        }
        pulse.push_back(directory.processes[i].agent_wakes.load(std::memory_order_relaxed));
    }
    return true;
}

/// Nothing: somebody is awake, or about to be. `threads`: how many sleep.
std::optional<Pulse> take_pulse(Node& node, std::uint32_t* threads)
{
    const Directory& directory = node.directory;
    Pulse pulse;
    *threads = 0;
    for (std::uint32_t i = 0; i < directory.rank_count; ++i) {
        if (directory.ended.has(i)) {
            continue;
        }
        const RankState* const rank = directory.ranks[i];
        const std::optional<std::uint32_t> asleep =
            is_asleep(rank) ? count_asleep(directory, *rank) : std::nullopt;
        if (!asleep.has_value()) {
            return std::nullopt;
        }
        *threads += *asleep;
        // Relaxed: a thread that woke and sleeps again has counted in between.
        pulse.push_back(rank->counters.parks.load(std::memory_order_relaxed));
        pulse.push_back(rank->threads.sleeps.load(std::memory_order_relaxed));
    }
    if (directory.instance_count == 0) {
        return are_agents_asleep(directory, pulse) ? std::optional(pulse) : std::nullopt;
    }
    // An agent of another instance may complete what a rank waits for in this one.
    for (std::uint32_t i = 0; i < directory.instance_count; ++i) {
        if (!are_agents_asleep(*directory.instances[i], pulse)) {
            return std::nullopt;
        }
    }
    return pulse;
}

void tell(Driver& driver, const WaitNote& note, const char* when)
{
    const platform::CallSite site = platform::find_call_site(platform::capture_frames());
    platform::write_error("headway: rank " + std::to_string(driver.rank().job_rank) + ": " + when +
                          "waits in " + site.function +
                          (site.place.empty() ? "" : " at " + site.place) + " for " +
                          WaitNote::describe_wait(note) + "\n");
}

void wake_all(Node& node, std::uint32_t threads)
{
    Directory& directory = node.directory;
    directory.threads_standing = threads;
    // (1) release, pairs with (2): woken ranks see why.
    directory.is_standing_still.store(1, std::memory_order_release);
    for (std::uint32_t i = 0; i < directory.rank_count; ++i) {
        directory.ranks[i]->ownership.notify_parked();
    }
}

std::uint32_t count_waiting(const Directory& directory)
{
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < directory.rank_count; ++i) {
        count += directory.ended.has(i) ? 0U : 1U;
    }
    return count;
}

}  // namespace

void sleep_until_rung(Driver& driver, platform::Deadline alarm)
{
    Node& node = driver.node();
    sync::OwnershipWord& word = driver.rank().ownership;
    if (!base::has_diagnostics || !may_stand_still(node, driver.rank().rank)) {
        word.park(alarm);
        return;
    }
    const std::int64_t look_ns = static_cast<std::int64_t>(node.knobs.deadlock_ms) * 500'000;
    std::optional<Pulse> before;
    while (!word.park(platform::earlier(platform::Deadline::after_ns(look_ns), alarm)) &&
           !alarm.has_passed()) {
        std::uint32_t threads = 0;
        std::optional<Pulse> now = take_pulse(node, &threads);
        if (now.has_value() && now == before) {
            wake_all(node, threads);
            return;
        }
        before = std::move(now);
    }
}

void note_end(Driver& driver)
{
    Directory& directory = driver.node().directory;
    directory.ended.add(driver.rank().rank);
    if (directory.idle.covers_with(directory.ended, directory.rank_count)) {
        // Who sleeps now did not see itself as the last one; the first of them lies down anew.
        const std::uint32_t sleeper = directory.idle.next();
        if (sleeper < directory.rank_count) {
            directory.ranks[sleeper]->ownership.notify_parked();
        }
    }
}

void note_return(Driver& driver)
{
    (void)driver.node().directory.ended.remove(driver.rank().rank);
}

LateWait::LateWait(Driver& driver, const WaitNote& note)
    : driver_(driver), note_(note), alarm_(driver.node().waits_told_at)
{
    if (!base::has_diagnostics || alarm_.has_passed()) {
        alarm_ = platform::Deadline::never();
    }
}

void LateWait::tell_if_due()
{
    if (alarm_.has_passed()) {
        alarm_ = platform::Deadline::never();
        tell(driver_, note_, "time is nearly up: ");
    }
}

void report_standstill(Driver& driver, const WaitNote& note)
{
    Directory& directory = driver.node().directory;
    const std::uint32_t rank = driver.rank().rank;
    tell(driver, note, "");
    // Those that sleep beside this one tell as well.
    driver.lock().wake_all_sleepers();
    driver.lock().unlock();
    // (3) acq_rel, pairs with itself: the last one's lines come after the others'.
    const std::uint32_t told = directory.threads_told.fetch_add(1, std::memory_order_acq_rel) + 1;
    const std::uint32_t waiting = count_waiting(directory);
    if (told < directory.threads_standing) {
        // The launcher ends this process when the last one has told.
        const auto deadline = platform::Deadline::after_ns(patience_ns);
        while (platform::futex_wait(directory.is_standing_still, 1, deadline) !=
               platform::FutexWait::timed_out) {
        }
    }
    platform::fatal(
        rank, "deadlock: all " + std::to_string(waiting) + " ranks" +
                  (waiting < directory.rank_count ? " that have not ended" : "") +
                  " wait in MPI and no message is under way, so the job ends; the lines "
                  "before say who waits for what (HEADWAY_CHECK=collectives finds collectives "
                  "that members call in different ways, HEADWAY_DEADLOCK_MS=0 lets them "
                  "wait)");
}

}  // namespace headway::engine
