// SPDX-License-Identifier: Apache-2.0
#include "rank_crew.hpp"

#include <pthread.h>

#include "host.hpp"
#include "host_thread.hpp"

namespace headway::launch {
namespace {

// Written by the constructor, before there is a rank.
std::atomic<RankCrew*> crew_of_process{nullptr};

ult::CrewOptions options_of(const HostPlan::Crew& plan)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ::sched_getaffinity(0, sizeof allowed, &allowed);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) {
            cpus.push_back(cpu);
        }
    }
    const std::size_t count = plan.seed != 0      ? 1
                              : plan.workers != 0 ? static_cast<std::size_t>(plan.workers)
                                                  : cpus.size();
    ult::CrewOptions options;
    for (std::size_t i = 0; i < count; ++i) {
        options.cpus.push_back(plan.pins_workers ? cpus[i % cpus.size()] : -1);
    }
    // Workers that share a cpu would look around in the time of those that have work.
    if (count > cpus.size()) {
        options.spin_ns = 0;
    }
    options.keeps_tasks = plan.binds_ranks;
    options.seed = static_cast<std::uint64_t>(plan.seed);
    if (plan.seed != 0) {
        options.look_ns = 0;  // who lacks a core for a while is up to the system
    }
    options.show_task = &show_where_rank_is;
    options.prepare_worker = [] { make_signal_stack(own_thread()); };
    return options;
}

const std::atomic<std::uint32_t>& word_at(const void* address) noexcept
{
    return *static_cast<const std::atomic<std::uint32_t>*>(address);
}

void yield()
{
    RankCrew::of_process()->crew().yield();
}

int wait(const void* word, std::uint32_t expected, std::int64_t deadline_ns)
{
    switch (RankCrew::of_process()->crew().wait(word_at(word), expected, deadline_ns)) {
        case platform::FutexWait::value_differed:
            return HEADWAY_WAIT_DIFFERED;
        case platform::FutexWait::timed_out:
            return HEADWAY_WAIT_TIMED_OUT;
        default:
            return HEADWAY_WAIT_AWAKE;
    }
}

int wake(const void* word, int count)
{
    return RankCrew::of_process()->crew().wake(word_at(word), count);
}

int runs_rank()
{
    return ult::own_task() != nullptr ? 1 : 0;
}

}  // namespace

RankCrew::RankCrew(const HostPlan::Crew& plan, int rank_count)
    : rank_count_(rank_count),
      sleeps_suspend_(plan.sleeps_suspend),
      crew_(options_of(plan)),
      scheduling_{&yield,
                  &wait,
                  &wake,
                  &runs_rank,
                  static_cast<int>(crew_.core_count()),
                  plan.binds_ranks ? 1 : 0}
{
    ::sched_getaffinity(0, sizeof allowed_, &allowed_);
    // The child of a fork has one thread, which runs no task and goes its own way.
    ::pthread_atfork(nullptr, nullptr, &ult::forget_own_task);
    // Relaxed: the threads of ranks are started later.
    crew_of_process.store(this, std::memory_order_relaxed);
}

void RankCrew::listen_to(const headway_outside* outside) noexcept
{
    if (outside != nullptr) {
        crew_.listen_to({static_cast<std::atomic<std::uint32_t>*>(outside->bell),
                         static_cast<std::atomic<std::uint32_t>*>(outside->sleepers),
                         outside->answer, outside->argument});
    }
}

RankCrew* RankCrew::of_process() noexcept
{
    return crew_of_process.load(std::memory_order_relaxed);
}

void RankCrew::admit(ult::Task& task, int index) noexcept
{
    const auto place = static_cast<std::size_t>(index);
    const auto count = static_cast<std::size_t>(rank_count_);
    crew_.make_ready(task, static_cast<std::uint32_t>(index), place * crew_.core_count() / count);
}

void RankCrew::release_thread() const noexcept
{
    ::sched_setaffinity(0, sizeof allowed_, &allowed_);
}

std::string RankCrew::report(std::size_t stack_bytes) const
{
    const ult::CrewCounters counters = crew_.counters();
    return "headway: " + std::to_string(rank_count_) + " ranks on " +
           std::to_string(crew_.core_count()) + " workers: " + std::to_string(counters.switches) +
           " switches, " + std::to_string(counters.steals) +
           " of them to ranks of other workers; workers slept " + std::to_string(counters.sleeps) +
           " times and lost their ranks to a spare worker " + std::to_string(counters.evictions) +
           " times (" + std::to_string(counters.spare_workers) +
           " spare); the deepest stack took " + std::to_string((stack_bytes + 1023) / 1024) +
           " KiB\n";
}

}  // namespace headway::launch
