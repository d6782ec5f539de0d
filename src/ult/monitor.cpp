// SPDX-License-Identifier: Apache-2.0
// Start and end of a crew, and who looks after workers that do not switch.
#include <pthread.h>
#include <signal.h>

#include <system_error>

#include "ult/crew.hpp"

namespace headway::ult {

namespace {

/// How much rarer the monitor looks while no worker runs anything.
constexpr std::int64_t quiet_factor = 25;

}  // namespace

bool Crew::start()
{
    ::pthread_sigmask(SIG_SETMASK, nullptr, &signals_of_workers_);
    for (const auto& core : cores_) {
        if (!start_worker(*core)) {
            return false;
        }
    }
    if (options_.look_ns == 0) {
        return true;
    }
    try {
        monitor_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

void Crew::stop()
{
    // Relaxed: the rings below make everybody look.
    must_stop_.store(1, std::memory_order_relaxed);
    platform::system_wake(must_stop_, INT_MAX);
    if (monitor_.joinable()) {
        monitor_.join();
    }
    for (const auto& core : cores_) {
        ring(*core);
    }
    // The monitor is gone, so that nobody adds workers.
    for (const auto& worker : workers_) {
        worker->has_core.store(1,
                               std::memory_order_relaxed);  // relaxed: there is none, and no need
        platform::system_wake(worker->has_core, 1);
        worker->thread.join();
    }
}

void Crew::inspect(Task& task, int signal) noexcept
{
    const std::lock_guard guard(workers_mutex_);
    for (const auto& worker : workers_) {
        // Relaxed: where it has left meanwhile, the signal meets another one, or none.
        if (worker->current.load(std::memory_order_relaxed) == &task) {
            ::pthread_kill(worker->thread.native_handle(), signal);
            return;
        }
    }
    inspected_.store(&task, std::memory_order_relaxed);  // relaxed: see show_if_asked()
    make_all_ready(bedroom_.take_task(task));
}

void Crew::watch() noexcept
{
    ::pthread_setname_np(::pthread_self(), "headway-monitor");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    std::vector<Sight> before(cores_.size(), Sight{0, platform::monotonic_ns()});
    while (must_stop_.load(std::memory_order_relaxed) == 0) {  // relaxed: a futex follows
        // Relaxed: where all workers sleep, nobody can be stuck for a while.
        const bool is_quiet = sleeping_workers_.load(std::memory_order_relaxed) >= cores_.size();
        const std::int64_t interval_ns = options_.look_ns * (is_quiet ? quiet_factor : 1);
        (void)platform::system_wait(must_stop_, 0, platform::Deadline::after_ns(interval_ns).ns());
        rouse_due();
        answer_outside();
        const std::int64_t now_ns = platform::monotonic_ns();
        for (std::size_t i = 0; i < cores_.size(); ++i) {
            look_at(*cores_[i], before[i], now_ns);
        }
    }
}

void Crew::look_at(Core& core, Sight& before, std::int64_t now_ns) noexcept
{
    // Relaxed, all: whoever is taken for stuck and is not loses nothing but its core.
    const std::uint64_t switches = core.switches.load(std::memory_order_relaxed);
    Worker& worker = *core.worker.load(std::memory_order_relaxed);
    const auto turns = static_cast<std::int64_t>(switches - before.switches);
    const bool has_waiting =
        core.queue.size() != 0 && worker.current.load(std::memory_order_relaxed) != nullptr;
    const bool has_long_turns = turns * theft_after_ns < now_ns - before.since_ns;
    if (turns != 0 || !has_waiting) {
        before = {switches, now_ns};
    }
    if (!has_waiting) {
        return;
    }
    if (has_long_turns && !options_.keeps_tasks &&
        sleeping_workers_.load(std::memory_order_relaxed) != 0) {
        ring_any();  // it takes them in the middle of such a turn
    } else if (turns == 0 && now_ns - before.since_ns >= options_.patience_ns) {
        replace_worker(core, worker);
        before.since_ns = now_ns;
    }
}

/// Nothing here needs the stuck one to stand still: two workers may have one core for a moment.
void Crew::replace_worker(Core& core, Worker& stuck) noexcept
{
    Worker* spare = nullptr;
    {
        const std::lock_guard guard(workers_mutex_);
        if (!spares_.empty()) {
            spare = spares_.back();
            spares_.pop_back();
        }
    }
    if (spare != nullptr) {
        spare->core = &core;
        core.worker.store(spare, std::memory_order_release);  // as (10) of worker.cpp
        // (7) release, pairs with (6) of worker.cpp.
        spare->has_core.store(1, std::memory_order_release);
        platform::system_wake(spare->has_core, 1);
    } else if (start_worker(core)) {
        count_one(spare_workers_);
    } else {
        return;
    }
    count_one(evictions_);
    stuck.is_evicted.store(true, std::memory_order_relaxed);  // relaxed: read at its next switch
}

}  // namespace headway::ult
