// SPDX-License-Identifier: Apache-2.0
// What a worker does when it runs no task.
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <mutex>
#include <system_error>

#include "platform/atomic.hpp"
#include "platform/futex_either.hpp"
#include "ult/crew.hpp"

namespace headway::ult {

namespace {

/// From one look at other cores to the next, of a worker without work, and before the first. Each
/// takes from them lines that they write at every switch; and ranks that only wait for each other
/// are ready again sooner than that.
constexpr std::int64_t look_around_ns = 5'000;

/// Looks at the queue between two turns of the kernel's, half a microsecond.
constexpr unsigned looks_a_yield = 16;

void look_before_yield(const Core& core) noexcept
{
    for (unsigned look = 0; look < looks_a_yield; ++look) {
        if (core.queue.size() != 0) {
            return;
        }
        platform::cpu_relax();
    }
    yield_to_kernel();
}

void pin_to(int cpu) noexcept
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
        CPU_SET(static_cast<std::size_t>(cpu), &set);
        // A refusal leaves things as they are: slower, not wrong.
        (void)::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
    }
}

}  // namespace

bool Crew::start_worker(Core& core)
{
    auto owned = std::make_unique<Worker>();
    Worker* const worker = owned.get();
    worker->core = &core;
    worker->victims.resize(cores_.size());
    try {
        worker->thread = std::thread([this, worker] { run(*worker); });
    } catch (const std::system_error&) {
        return false;
    }
    // (10) release, pairs with (9) of crew.cpp.
    core.worker.store(worker, std::memory_order_release);
    const std::lock_guard guard(workers_mutex_);
    workers_.push_back(std::move(owned));
    return true;
}

void Crew::run(Worker& worker) noexcept
{
    ::pthread_sigmask(SIG_SETMASK, &signals_of_workers_, nullptr);
    ::pthread_setname_np(::pthread_self(), "headway-worker");
    if (options_.prepare_worker != nullptr) {
        options_.prepare_worker();
    }
    pin_to(worker.core->cpu);
    worker.base.thread_pointer = __builtin_thread_pointer();
    for (;;) {
        Task* const next = find_work(worker);
        if (next == nullptr) {
            if (must_stop_.load(std::memory_order_relaxed) != 0) {  // relaxed: nothing follows
                return;
            }
            wait_for_core(worker);
            continue;
        }
        next->worker.store(&worker, std::memory_order_relaxed);  // relaxed: as (3) of crew.cpp
        next->core = worker.core;
        worker.current.store(next, std::memory_order_relaxed);  // relaxed: the monitor only looks
        worker.departure.store(Departure::none, std::memory_order_release);  // as (1) of crew.cpp
        headway_ult_switch(&worker.base, &next->birth.context);
        settle(worker);
    }
}

/// Null: the worker has lost its core, or all is over.
Task* Crew::find_work(Worker& worker) noexcept
{
    Core& core = *worker.core;
    std::int64_t spin_until_ns = 0;
    std::int64_t look_at_ns = 0;
    bool has_slept = false;
    bool has_looked = false;
    // Relaxed, both: flags that lead to nothing but a look elsewhere.
    while (!worker.is_evicted.load(std::memory_order_relaxed) &&
           must_stop_.load(std::memory_order_relaxed) == 0) {
        rouse_due();
        if (Task* const task = take_next(core); task != nullptr) {
            return task;
        }
        const std::int64_t now_ns = platform::monotonic_ns();
        if (spin_until_ns == 0) {
            spin_until_ns = now_ns + options_.spin_ns;
            look_at_ns = has_slept ? now_ns : now_ns + std::min(look_around_ns, options_.spin_ns);
            has_looked = options_.spin_ns == 0;
        }
        if (now_ns >= look_at_ns) {
            look_at_ns = now_ns + look_around_ns;
            if (!has_looked) {
                has_looked = true;
                // Time to see that a core still does not switch, however late this look is.
                spin_until_ns = std::max(spin_until_ns, look_at_ns + theft_after_ns);
            }
            if (Task* const task = steal(worker, now_ns); task != nullptr) {
                return task;
            }
        }
        if (now_ns < spin_until_ns) {
            look_before_yield(core);
        } else {
            sleep_without_work(core);
            spin_until_ns = 0;
            has_slept = true;  // and was woken to look around, perhaps
        }
    }
    return nullptr;
}

/// From a core whose worker has not switched for a while, or that has many.
Task* Crew::steal(Worker& thief, std::int64_t now_ns) noexcept
{
    if (options_.keeps_tasks) {
        return nullptr;
    }
    const std::size_t count = cores_.size();
    for (std::size_t i = 1; i < count; ++i) {
        const std::size_t index = (thief.core->index + i) % count;
        Core& victim = *cores_[index];
        Worker::Look& look = thief.victims[index];
        // Relaxed: a hint.
        const std::uint64_t switches = victim.switches.load(std::memory_order_relaxed);
        if (switches != look.switches) {
            look = {switches, now_ns};
        }
        if (has_too_many(victim) || now_ns - look.since_ns >= theft_after_ns) {
            if (Task* const task = victim.queue.pop(); task != nullptr) {
                if (task->home == &victim) {
                    task->switches_of_home = switches;
                }
                count_one(steals_);
                count_one(thief.core->switches);
                return task;
            }
        }
    }
    return nullptr;
}

/// A worker that finds only cores which switch and have few tasks may sleep: the monitor wakes it
/// if one of them stops switching.
bool Crew::has_work_for(const Core& core) const noexcept
{
    return core.queue.size() != 0 ||
           (!options_.keeps_tasks &&
            std::ranges::any_of(cores_, [](const auto& each) { return has_too_many(*each); }));
}

void Crew::sleep_without_work(Core& core) noexcept
{
    // Relaxed: a ring from here on changes it, and the sleep ends at once.
    const std::uint32_t bell = core.bell.load(std::memory_order_relaxed);
    core.sleepers.fetch_add(1, std::memory_order_relaxed);  // relaxed: ordered by (5)
    if (outside_.bell != nullptr) {
        outside_.sleepers->fetch_add(1, std::memory_order_relaxed);  // relaxed: ordered by (5)
    }
    sleeping_workers_.fetch_add(1, std::memory_order_relaxed);  // relaxed: ordered by (5)
    platform::RealAtomics::fence_full();  // (5) sequentially consistent, pairs with (4) of crew.cpp
    if (!has_work_for(core) && !is_rung() && must_stop_.load(std::memory_order_relaxed) == 0) {
        count_one(sleeps_);
        if (outside_.bell == nullptr) {
            (void)platform::system_wait(core.bell, bell, bedroom_.first_due_ns());
        } else {
            // Relaxed: a ring since then ends the sleep at once.
            platform::system_wait_either(core.bell, bell, *outside_.bell,
                                         answered_.load(std::memory_order_relaxed),
                                         bedroom_.first_due_ns());
        }
    }
    if (outside_.bell != nullptr) {
        outside_.sleepers->fetch_sub(1, std::memory_order_relaxed);  // relaxed: as below
    }
    sleeping_workers_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: too high does no harm
    core.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

/// An evicted worker is a spare one until the monitor needs it.
void Crew::wait_for_core(Worker& worker) noexcept
{
    worker.has_core.store(0, std::memory_order_relaxed);  // relaxed: the mutex orders it
    worker.is_evicted.store(false, std::memory_order_relaxed);
    {
        const std::lock_guard guard(workers_mutex_);
        spares_.push_back(&worker);
    }
    // (6) acquire, pairs with (7) of monitor.cpp: it sees its new core.
    while (worker.has_core.load(std::memory_order_acquire) == 0) {
        (void)platform::system_wait(worker.has_core, 0, platform::Deadline::never().ns());
    }
    pin_to(worker.core->cpu);
}

}  // namespace headway::ult
