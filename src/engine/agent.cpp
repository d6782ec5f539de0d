// SPDX-License-Identifier: Apache-2.0
#include "engine/agent.hpp"

#include "engine/node.hpp"
#include "engine/worker.hpp"
#include "platform/cpu.hpp"
#include "platform/futex.hpp"
#include "platform/process.hpp"
#include "platform/thread.hpp"

namespace headway::engine {

namespace {

/// Between two looks of an agent that is asked all the time.
constexpr std::int64_t patrol_ns = 1'000'000;

/// For which it leaves copies to the ranks where there is no idle core.
constexpr std::int64_t grace_ns = 5'000'000;

/// The ranks of this process in a set of those that are wanted.
bool sweep_set(Worker& worker, RankSet& wanted)
{
    Node& node = worker.node();
    bool has_worked = false;
    for (std::uint32_t rank = wanted.next(); rank != ranks_per_node_max;
         rank = wanted.next(rank + 1)) {
        RankState& state = node.rank_state(rank);
        if (state.process == node.own_process && wanted.remove(rank)) {
            // Relaxed: a statistic with one writer.
            node.own_entry().agent_turns.fetch_add(1, std::memory_order_relaxed);
            worker.work_for(state);
            has_worked = true;
        }
    }
    return has_worked;
}

/// And whom the work for them found away.
bool sweep_wanted(Worker& worker)
{
    Directory& directory = worker.node().directory;
    const bool has_worked = sweep_set(worker, directory.wanted_at_home);
    const bool has_helped = sweep_set(worker, directory.wanted) || has_worked;
    return (worker.has_asked() && worker.help()) || has_helped;
}

}  // namespace

bool Agent::start_slowly()
{
    const std::lock_guard guard(starting_);
    if (state_.load(std::memory_order_relaxed) != State::idle) {  // relaxed: under the lock
        return state_.load(std::memory_order_relaxed) == State::running;
    }
    State state = State::running;
    if (!platform::start_thread(thread_, [this] { run(); })) {
        platform::write_error(
            "headway: warning: the system refused a thread, so messages of this process move "
            "only inside its own MPI calls; raise the limit (ulimit -u), or set "
            "HEADWAY_PROGRESS=none\n");
        state = State::impossible;
    }
    // (2) release, pairs with (1).
    state_.store(state, std::memory_order_release);
    return state == State::running;
}

/// Asleep without a bed, so that nobody has to wake it; false if it is to end.
bool Agent::nap(std::int64_t interval_ns) noexcept
{
    (void)platform::futex_wait(must_end_, 0, platform::Deadline::after_ns(interval_ns));
    return !must_end();
}

void Agent::run()
{
    platform::name_thread("headway-agent");
    platform::allow_cpus(node_.cpus());
    platform::give_way();
    Worker worker(node_, nullptr);
    sync::OwnershipWord& bed = node_.own_entry().agent_bed;
    (void)bed.enter();
    const bool polls = node_.knobs.progress == config::ProgressChoice::thread;
    while (!must_end()) {
        if (polls) {
            worker.work_for_all();
            if (!sweep_wanted(worker)) {
                platform::yield_core();
            }
        } else {
            work_and_sleep(worker);
        }
    }
    (void)bed.leave();
}

void Agent::work_and_sleep(Worker& worker)
{
    worker.defer_copies(!node_.has_idle_cores);
    while (!worker.has_deferred() && sweep_wanted(worker)) {
    }
    if (worker.has_deferred()) {
        if (nap(grace_ns)) {
            worker.defer_copies(false);
            while (sweep_wanted(worker)) {
            }
        }
        return;
    }
    if (pace_.is_patrol()) {
        if (nap(patrol_ns) && !sweep_wanted(worker)) {
            pace_.end_patrol();
        }
        return;
    }
    platform::scheduling_point();
    sync::OwnershipWord& bed = node_.own_entry().agent_bed;
    if (bed.prepare_park()) {
        if (!sweep_wanted(worker) && !must_end()) {
            bed.park();
            pace_.count_wake();
            // Relaxed: a statistic.
            node_.own_entry().agent_wakes.fetch_add(1, std::memory_order_relaxed);
        }
        (void)bed.end_park();
    }
}

void Agent::stop() noexcept
{
    if (!thread_.joinable()) {
        return;
    }
    // (4) release, pairs with (3).
    must_end_.store(1, std::memory_order_release);
    platform::futex_wake(must_end_, 1);
    node_.own_entry().agent_bed.notify_parked();
    thread_.join();
    state_.store(State::impossible, std::memory_order_relaxed);  // relaxed: the last rank's doing
}

}  // namespace headway::engine
