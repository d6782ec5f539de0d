// SPDX-License-Identifier: Apache-2.0
#include "ult/crew.hpp"

#include <utility>

#include "base/mix.hpp"
#include "platform/atomic.hpp"

namespace headway::ult {

namespace {

constinit thread_local Task* task_of_thread = nullptr;

/// Switches of a worker from one look at the deadlines to the next.
constexpr std::uint64_t switches_a_look = 64;

}  // namespace

Task* own_task() noexcept
{
    return task_of_thread;
}

void forget_own_task() noexcept
{
    task_of_thread = nullptr;
}

Crew::Crew(CrewOptions options)
    : options_(std::move(options)), random_(base::mix(options_.seed + 1))
{
    find_thread_pointer_access();
    for (const int cpu : options_.cpus) {
        cores_.push_back(std::make_unique<Core>());
        cores_.back()->cpu = cpu;
        cores_.back()->index = static_cast<std::uint32_t>(cores_.size() - 1);
    }
}

Crew::~Crew() = default;

bool Crew::enter(Task& task) noexcept
{
    task_of_thread = &task;
    if (!give_birth(task.birth)) {
        task_of_thread = nullptr;
        return false;
    }
    // (3) relaxed: written by whoever entered the task, before settle() acquires from it.
    settle(*task.worker.load(std::memory_order_relaxed));
    return true;
}

void Crew::make_ready(Task& task, std::uint32_t number, std::size_t core) noexcept
{
    task.number = number;
    task.home = cores_[core].get();
    task.core = task.home;
    put(task);
}

Task* Crew::take_next(Core& core) noexcept
{
    // Relaxed: one writer, but for the moment in which a core changes hands.
    const std::uint64_t switches = core.switches.load(std::memory_order_relaxed);
    if (switches % switches_a_look == 0) {
        rouse_due();
    }
    answer_outside();
    Task* next = nullptr;
    if (options_.seed != 0) [[unlikely]] {
        random_ += 0x9E3779B97F4A7C15U;
        next = core.queue.pop_nth(base::mix(random_));
        digest_ = next == nullptr ? digest_ : base::mix(digest_ ^ (next->number + 1));
    } else {
        next = core.queue.pop();
    }
    if (next != nullptr) {
        core.switches.store(switches + 1, std::memory_order_relaxed);
    }
    return next;
}

/// The task leaves its worker for `next`; null: for the place where the worker looks for work.
void Crew::leave(Task& task, Departure departure, Task* next) noexcept
{
    // Relaxed: as (3).
    Worker& worker = *task.worker.load(std::memory_order_relaxed);
    worker.departing = &task;
    worker.current.store(next, std::memory_order_relaxed);  // relaxed: the monitor only looks
    const Context* to = &worker.base;
    if (next != nullptr) {
        next->worker.store(&worker, std::memory_order_relaxed);  // relaxed: as (3)
        next->core = worker.core;
        to = &next->birth.context;
    }
    // (1) release, pairs with (2): orders nothing that the switch would not, as both sides run on
    // one worker, but says so.
    worker.departure.store(departure, std::memory_order_release);
    headway_ult_switch(&task.birth.context, to);
    settle(*task.worker.load(std::memory_order_relaxed));  // relaxed: as (3)
    show_if_asked(task);
}

void Crew::show_if_asked(const Task& task) noexcept
{
    // Relaxed: a report; what it shows is the task's own.
    if (inspected_.load(std::memory_order_relaxed) == &task) [[unlikely]] {
        inspected_.store(nullptr, std::memory_order_relaxed);
        options_.show_task();
    }
}

/// First act in a context that has been entered: publishes the one that was left.
void Crew::settle(Worker& worker) noexcept
{
    // (2) acquire, pairs with (1).
    const Departure departure = worker.departure.load(std::memory_order_acquire);
    Task* const task = std::exchange(worker.departing, nullptr);
    worker.departure.store(Departure::none,
                           std::memory_order_relaxed);  // relaxed: the worker's own
    switch (departure) {
        case Departure::none:
        case Departure::over:
            break;
        case Departure::ready:
            put_at_home(*task);
            break;
        case Departure::asleep:
            if (!task->phase.lie_down()) {
                put_at_home(*task);
            }
            break;
        case Departure::home:
            send_home(task->birth);
            break;
    }
}

/// Into the queue of its core, whose worker does not sleep on while it waits: who is about to sleep
/// counts itself, passes the fence (5), and looks at the queues; here the task is put first, then
/// comes the fence (4), then the count is read. Whichever fence comes first, one sees the other.
void Crew::put(Task& task) noexcept
{
    Core& core = *task.core;
    core.queue.push(task);
    platform::RealAtomics::fence_full();  // (4) sequentially consistent, pairs with (5) of
                                          // worker.cpp
    // Relaxed: ordered by the fence.
    if (sleeping_workers_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        if (core.sleepers.load(std::memory_order_relaxed) != 0) {
            ring(core);
        } else if (!options_.keeps_tasks && has_too_many(core)) {
            ring_any();
        }
    }
}

/// What was taken from its home stays away while the task that kept it waiting there runs on.
void Crew::put_at_home(Task& task) noexcept
{
    // Relaxed: a hint.
    if (task.core != task.home &&
        (task.home->switches.load(std::memory_order_relaxed) != task.switches_of_home ||
         looks_for_work(*task.home))) {
        task.core = task.home;
    }
    put(task);
}

/// Its worker has nothing to run, and so will not switch again by itself.
bool Crew::looks_for_work(const Core& core) noexcept
{
    // (9) acquire, pairs with (10) of worker.cpp: there is none yet, or a whole one.
    const Worker* const worker = core.worker.load(std::memory_order_acquire);
    // Relaxed: a hint.
    return worker != nullptr && worker->current.load(std::memory_order_relaxed) == nullptr;
}

void Crew::make_all_ready(Task* chain) noexcept
{
    while (chain != nullptr) {
        Task* const task = std::exchange(chain, chain->next);
        if (task->phase.wake()) {
            put_at_home(*task);
        }
    }
}

void Crew::rouse_due() noexcept
{
    if (bedroom_.first_due_ns() == platform::Deadline::never().ns()) {
        return;
    }
    make_all_ready(bedroom_.take_due(platform::monotonic_ns()));
}

bool Crew::is_rung() const noexcept
{
    // (8) acquire, pairs with (3) of sync/outside_bell.hpp. Relaxed, the other: see answered_.
    return outside_.bell != nullptr && outside_.bell->load(std::memory_order_acquire) !=
                                           answered_.load(std::memory_order_relaxed);
}

void Crew::answer_outside() noexcept
{
    if (is_rung()) [[unlikely]] {
        // Acquire: as (8). Relaxed: see answered_.
        answered_.store(outside_.bell->load(std::memory_order_acquire), std::memory_order_relaxed);
        outside_.answer(outside_.argument);
    }
}

void Crew::ring(Core& core) noexcept
{
    // Relaxed: the system call orders it, and the sleeper looks at the queues afterwards.
    core.bell.fetch_add(1, std::memory_order_relaxed);
    platform::system_wake(core.bell, INT_MAX);
}

void Crew::ring_any() noexcept
{
    for (const auto& core : cores_) {
        // Relaxed: as in put().
        if (core->sleepers.load(std::memory_order_relaxed) != 0) {
            ring(*core);
            return;
        }
    }
}

void Crew::yield() noexcept
{
    Task* const self = own_task();
    if (self == nullptr) {
        yield_to_kernel();
        return;
    }
    // Relaxed: as (3); the flag is a hint that comes in time or one switch later.
    Worker& worker = *self->worker.load(std::memory_order_relaxed);
    if (worker.is_evicted.load(std::memory_order_relaxed)) [[unlikely]] {
        leave(*self, Departure::ready, nullptr);
        return;
    }
    Task* const next = take_next(*worker.core);
    if (next != nullptr) {
        leave(*self, Departure::ready, next);
        return;
    }
    rouse_due();
    yield_to_kernel();
}

platform::FutexWait Crew::wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                               std::int64_t deadline_ns) noexcept
{
    Task* const self = own_task();
    if (self == nullptr) {
        return bedroom_.sleep_in_kernel(word, expected, deadline_ns);
    }
    const std::int64_t due_before_ns = bedroom_.first_due_ns();
    if (!bedroom_.lie_down(*self, word, expected, deadline_ns)) {
        return platform::FutexWait::value_differed;
    }
    if (deadline_ns < due_before_ns) {
        platform::RealAtomics::fence_full();  // as (4): a sleeping worker may look too late
        ring_any();
    }
    // Relaxed: as in yield().
    Worker& worker = *self->worker.load(std::memory_order_relaxed);
    const bool is_evicted = worker.is_evicted.load(std::memory_order_relaxed);
    leave(*self, Departure::asleep, is_evicted ? nullptr : take_next(*worker.core));
    return bedroom_.get_up(*self) ? platform::FutexWait::timed_out : platform::FutexWait::awake;
}

int Crew::wake(const std::atomic<std::uint32_t>& word, int count) noexcept
{
    int left = count;
    const Woken woken = bedroom_.take(word, left);
    make_all_ready(woken.first);
    if (woken.is_in_kernel && left > 0) {
        platform::system_wake(word, left);
    }
    return count - left;
}

void Crew::sleep_until(std::int64_t moment_ns) noexcept
{
    // Nobody else knows the word.
    const std::atomic<std::uint32_t> word{0};
    while (platform::monotonic_ns() < moment_ns) {
        (void)wait(word, 0, moment_ns);
    }
}

void Crew::go_home() noexcept
{
    Task* const self = own_task();
    task_of_thread = nullptr;
    Worker& worker = *self->worker.load(std::memory_order_relaxed);  // relaxed: as (3)
    worker.departing = self;
    worker.current.store(nullptr, std::memory_order_relaxed);  // relaxed: the monitor only looks
    worker.departure.store(Departure::home, std::memory_order_release);  // as (1)
    headway_ult_switch(&self->birth.context, &worker.base);
    arrive_home(self->birth);
}

void Crew::end() noexcept
{
    leave(*own_task(), Departure::over, nullptr);
    __builtin_unreachable();
}

CrewCounters Crew::counters() const noexcept
{
    CrewCounters all;
    for (const auto& core : cores_) {
        all.switches += core->switches.load(std::memory_order_relaxed);  // relaxed: statistics
    }
    all.steals = steals_.load(std::memory_order_relaxed);
    all.sleeps = sleeps_.load(std::memory_order_relaxed);
    all.evictions = evictions_.load(std::memory_order_relaxed);
    all.spare_workers = spare_workers_.load(std::memory_order_relaxed);
    return all;
}

}  // namespace headway::ult
