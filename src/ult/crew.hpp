// SPDX-License-Identifier: Apache-2.0
//
// Workers and the tasks that they run. A core has a queue of ready tasks and one worker, a kernel
// thread; a worker that does not switch while tasks are ready loses its core to a spare one.
//
// Nothing here reads a thread-local of a worker: code of a task that looks for its worker asks the
// task. own_task() is the only thread-local, and the task's own.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/cpu.hpp"
#include "platform/futex.hpp"
#include "ult/bedroom.hpp"
#include "ult/run_queue.hpp"
#include "ult/task.hpp"

namespace headway::ult {

/// What becomes of a task that has left its worker.
enum class Departure : std::uint8_t {
    none,
    ready,   ///< goes to the queue
    asleep,  ///< lies in the bedroom
    home,    ///< its birth thread goes on with it
    over,    ///< nobody enters it again
};

struct alignas(platform::cache_line_bytes) Core {
    RunQueue queue;
    int cpu = -1;  ///< -1: its worker is not pinned
    std::uint32_t index = 0;
    /// Switches of its worker: written by it, read by thieves and the monitor.
    alignas(platform::cache_line_bytes) std::atomic<std::uint64_t> switches{0};
    /// Who has the core; null until it has one. Written by the monitor, read by it, by who wakes
    /// tasks and by reports.
    std::atomic<Worker*> worker{nullptr};
    /// What the worker sleeps on when it has nothing to run; changed by who wakes it.
    alignas(platform::cache_line_bytes) std::atomic<std::uint32_t> bell{0};
    std::atomic<std::uint32_t> sleepers{0};  ///< workers asleep on `bell`, or about to
};

struct alignas(platform::cache_line_bytes) Worker {
    Context base;  ///< where it looks for work
    Core* core = nullptr;
    /// Who has left and is not published yet. Handed from context to context.
    Task* departing = nullptr;
    /// Orders the hand-over for those who look at memory only (ThreadSanitizer).
    std::atomic<Departure> departure{Departure::none};
    /// Whom it runs; null: it looks for work. Written by it, read by the monitor.
    std::atomic<Task*> current{nullptr};
    /// Set by the monitor: the core is another one's. Read and reset by the worker.
    std::atomic<bool> is_evicted{false};
    /// 1: it has a core. A futex that spare workers sleep on.
    std::atomic<std::uint32_t> has_core{1};
    /// What it saw of other cores, by index: how many switches, and since when so many.
    struct Look {
        std::uint64_t switches = 0;
        std::int64_t since_ns = 0;
    };
    std::vector<Look> victims;
    std::thread thread;
};

struct CrewOptions {
    std::vector<int> cpus;                  ///< one worker each; -1: not pinned
    bool keeps_tasks = false;               ///< a task stays on the core that it was given first
    std::int64_t spin_ns = 50'000;          ///< a worker without work looks around for so long
    std::int64_t patience_ns = 10'000'000;  ///< a worker may go so long without a switch
    std::int64_t look_ns = 2'000'000;       ///< between two looks of the monitor; 0: no monitor
    std::uint64_t seed = 0;                 ///< not 0: who runs next is drawn; one worker
    void (*show_task)() = nullptr;          ///< runs in the task that inspect() has asked
    void (*prepare_worker)() = nullptr;     ///< first act of each worker's thread
};

/// What other processes ring, for tasks that sleep here on words that they know.
struct Outside {
    std::atomic<std::uint32_t>* bell = nullptr;      ///< changes with each ring; null: nobody rings
    std::atomic<std::uint32_t>* sleepers = nullptr;  ///< workers asleep on it, or about to
    void (*answer)(void* argument) = nullptr;        ///< wakes those for whom it was rung
    void* argument = nullptr;
};

struct CrewCounters {
    std::uint64_t switches = 0;
    std::uint64_t steals = 0;
    std::uint64_t sleeps = 0;         ///< of workers
    std::uint64_t evictions = 0;      ///< cores taken from workers that did not switch
    std::uint64_t spare_workers = 0;  ///< threads made for that
};

class Crew {
  public:
    explicit Crew(CrewOptions options);
    /// Requires stop(), or never started.
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// Workers answer the bell, between two tasks and when they have none. Before start().
    void listen_to(const Outside& outside) noexcept { outside_ = outside; }
    /// Starts the workers and the monitor. False: the system gives no thread.
    bool start();
    /// Waits for them to end. Requires: no task is ready or running.
    void stop();

    /// The calling thread becomes the birth thread of `task` (see ult::give_birth); the call
    /// returns in the task, on a worker, after make_ready(). False: no memory.
    [[nodiscard]] bool enter(Task& task) noexcept;
    /// Puts a task into the queue of a core, for its first time. Requires wait_for_birth(). Any
    /// thread.
    void make_ready(Task& task, std::uint32_t number, std::size_t core) noexcept;

    // By tasks; from other threads they do what the system does.
    void yield() noexcept;
    platform::FutexWait wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                             std::int64_t deadline_ns) noexcept;
    /// Wakes up to `count` sleepers on `word`, tasks first; how many of these. Any thread.
    int wake(const std::atomic<std::uint32_t>& word, int count) noexcept;
    /// Returns at that moment, not before.
    void sleep_until(std::int64_t moment_ns) noexcept;

    // By tasks only.
    /// The task's birth thread goes on with what follows the call.
    void go_home() noexcept;
    /// Nothing follows: the birth thread sleeps on, what lies on the stack stays.
    [[noreturn]] void end() noexcept;

    /// Has the task run `show_task` soon: one that sleeps is woken, without a cause; to the worker
    /// of one that runs goes `signal`, and what its handler does is up to the caller. For reports;
    /// one task at a time.
    void inspect(Task& task, int signal) noexcept;

    CrewCounters counters() const noexcept;
    /// The order in which tasks ran, as a number. Requires: one worker, which sleeps.
    std::uint64_t digest() const noexcept { return digest_; }
    std::size_t core_count() const noexcept { return cores_.size(); }

  private:
    // crew.cpp
    Task* take_next(Core& core) noexcept;
    void leave(Task& task, Departure departure, Task* next) noexcept;
    void settle(Worker& worker) noexcept;
    void put(Task& task) noexcept;
    void put_at_home(Task& task) noexcept;
    static bool looks_for_work(const Core& core) noexcept;
    void make_all_ready(Task* chain) noexcept;
    void rouse_due() noexcept;
    bool is_rung() const noexcept;
    void answer_outside() noexcept;
    void show_if_asked(const Task& task) noexcept;
    void ring(Core& core) noexcept;
    void ring_any() noexcept;
    // worker.cpp
    bool start_worker(Core& core);
    void run(Worker& worker) noexcept;
    Task* find_work(Worker& worker) noexcept;
    Task* steal(Worker& thief, std::int64_t now_ns) noexcept;
    void sleep_without_work(Core& core) noexcept;
    bool has_work_for(const Core& core) const noexcept;
    void wait_for_core(Worker& worker) noexcept;
    // monitor.cpp
    void watch() noexcept;
    struct Sight {
        std::uint64_t switches = 0;
        std::int64_t since_ns = 0;
    };
    void look_at(Core& core, Sight& before, std::int64_t now_ns) noexcept;
    void replace_worker(Core& core, Worker& stuck) noexcept;

    /// A worker that has not switched for so long computes, and others take its tasks. Tasks that
    /// only talk to each other switch more often, and are better left together.
    static constexpr std::int64_t theft_after_ns = 20'000;

    /// More ready tasks than their worker should have to itself while another one has none.
    static bool has_too_many(const Core& core) noexcept { return core.queue.size() > 2; }

    static void count_one(std::atomic<std::uint64_t>& counter) noexcept
    {
        // Relaxed: statistics, exact when the workers are at rest.
        counter.fetch_add(1, std::memory_order_relaxed);
    }

    const CrewOptions options_;
    Outside outside_;  ///< written before the workers start
    /// The ring that was answered last. Written by who answers: one too old is answered again.
    std::atomic<std::uint32_t> answered_{0};
    std::vector<std::unique_ptr<Core>> cores_;
    Bedroom bedroom_;
    /// Workers asleep without work, over all cores: so that one look tells that there is none.
    alignas(platform::cache_line_bytes) std::atomic<std::uint32_t> sleeping_workers_{0};
    std::atomic<std::uint32_t> must_stop_{0};  ///< a futex of the monitor; set by stop()
    std::uint64_t random_;                     ///< of the one worker, where there is a seed
    std::uint64_t digest_ = 0;
    sigset_t signals_of_workers_{};  ///< those that who started the crew blocks
    std::mutex workers_mutex_;       ///< guards the two below
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<Worker*> spares_;
    std::thread monitor_;
    /// Whom inspect() asks; set by it, reset by the task.
    std::atomic<const Task*> inspected_{nullptr};
    std::atomic<std::uint64_t> steals_{0};
    std::atomic<std::uint64_t> sleeps_{0};
    std::atomic<std::uint64_t> evictions_{0};
    std::atomic<std::uint64_t> spare_workers_{0};
};

/// The task that the calling code runs in; null: a thread that is none.
Task* own_task() noexcept;
/// In the child of a fork: its only thread is no task any more.
void forget_own_task() noexcept;

}  // namespace headway::ult
