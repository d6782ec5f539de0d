// SPDX-License-Identifier: Apache-2.0
//
// What takes the place of the system's clock, futexes and run queue: in a simulated team, and in
// a process whose ranks are user-level threads. Every function of this layer that sleeps, yields or
// reads the clock asks own_scheduler first: a load and a branch, on ways that would make a system
// call or read the clock otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace headway::platform {

/// How a futex sleep ended. `awake` includes wake-ups without a cause: callers test their word
/// again.
enum class [[nodiscard]] FutexWait : std::uint8_t { awake, value_differed, timed_out };

/// What a thread waits for, as text that is made only when somebody asks.
struct WaitNote {
    std::string (*text)(const WaitNote&);
};

/// Decides when threads run; a simulated team's lets one run at a time. Thread rule: a thread that
/// runs, unless it says otherwise.
class Scheduler {
  public:
    /// Time is virtual, and one thread runs at a time.
    bool is_simulated() const noexcept { return is_simulated_; }

    /// A thread's place among those that are scheduled.
    struct Seat;

    virtual std::int64_t now_ns() const noexcept = 0;
    /// Others may run now.
    virtual void step() noexcept = 0;
    /// Others should run now: the caller has nothing to do.
    virtual void yield() noexcept = 0;
    /// As futex_wait() and futex_wake(). wake() is no point at which others may run, so that it
    /// can be called with a lock in hand.
    virtual FutexWait wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::int64_t deadline_ns) noexcept = 0;
    virtual void wake(const std::atomic<std::uint32_t>& word, int count) noexcept = 0;

    /// A seat for a thread that is about to start. No point at which others may run.
    virtual Seat* add_seat() = 0;
    /// First act of the seat's thread: waits for its turn. Thread rule: that thread.
    virtual void take_seat(Seat* seat) noexcept = 0;
    /// Last act of the thread that runs.
    virtual void leave_seat() noexcept = 0;
    /// No thread will take `seat`.
    virtual void remove_seat(Seat* seat) noexcept = 0;
    /// Waits until the thread of `seat` has left it.
    virtual void wait_for_end(Seat* seat) noexcept = 0;

    /// For reports: what the running thread is called, and what it waits for from now on (null:
    /// nothing that one could say). Returns the note before.
    virtual void name_seat(const char* name) noexcept = 0;
    virtual const WaitNote* exchange_note(const WaitNote* note) noexcept = 0;

  protected:
    explicit Scheduler(bool is_simulated) noexcept : is_simulated_(is_simulated) {}
    ~Scheduler() = default;
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

  private:
    const bool is_simulated_;
};

/// Null, and the system schedules, in every thread but those of a simulated team and of a process
/// whose ranks are user-level threads.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local Scheduler* own_scheduler = nullptr;

/// Other threads of a simulated team may run here; nothing anywhere else.
inline void scheduling_point() noexcept
{
    if (own_scheduler != nullptr) [[unlikely]] {
        own_scheduler->step();
    }
}

/// While it lives, a report says of the calling thread that it waits for this.
class NotedWait {
  public:
    explicit NotedWait(const WaitNote& note) noexcept
    {
        if (own_scheduler != nullptr) [[unlikely]] {
            before_ = own_scheduler->exchange_note(&note);
        }
    }
    ~NotedWait()
    {
        if (own_scheduler != nullptr) [[unlikely]] {
            (void)own_scheduler->exchange_note(before_);
        }
    }
    NotedWait(const NotedWait&) = delete;
    NotedWait& operator=(const NotedWait&) = delete;

  private:
    const WaitNote* before_ = nullptr;
};

}  // namespace headway::platform
