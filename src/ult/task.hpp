// SPDX-License-Identifier: Apache-2.0
//
// A task is a context with a place in the scheduler: in somebody's hands, in one queue, or asleep
// in the bedroom. Whoever moves it does so alone; `Phase` decides where two could.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.hpp"
#include "ult/context.hpp"

namespace headway::ult {

struct Worker;
struct Core;
struct Task;

/// How a task that lies down and the one that wakes it meet. The task says `leaving` before it can
/// be found; who wakes it says `woken`; who saved its context says `asleep` unless it has been
/// woken. The later one of the two last makes it ready.
template <typename Atomics>
class BasicPhase {
  public:
    /// By the task, before others can find it.
    void leave() noexcept
    {
        // Relaxed: it is found under the lock of a bucket.
        value_.store(leaving, std::memory_order_relaxed);
    }

    /// Its context has been saved. False: it has been woken meanwhile, and the caller makes it
    /// ready.
    [[nodiscard]] bool lie_down() noexcept
    {
        std::uint32_t expected = leaving;
        // (1) release, pairs with (2): who wakes it sees the context; acquire, pairs with (2) too:
        // the caller sees what the one did that woke it.
        return value_.compare_exchange_strong(expected, asleep, std::memory_order_acq_rel,
                                              std::memory_order_acquire);
    }

    /// By the one that has taken it out of the bedroom. True: the caller makes it ready.
    [[nodiscard]] bool wake() noexcept
    {
        // (2) acquire and release, pairs with (1).
        return value_.exchange(woken, std::memory_order_acq_rel) == asleep;
    }

  private:
    static constexpr std::uint32_t leaving = 0;
    static constexpr std::uint32_t asleep = 1;
    static constexpr std::uint32_t woken = 2;

    typename Atomics::template Atomic<std::uint32_t> value_{woken};
};

/// What a task sleeps on. Under the lock of its bucket, but for `phase`.
struct Sleep {
    const std::atomic<std::uint32_t>* word = nullptr;  ///< null: taken out
    Task* next = nullptr;
    Task* previous = nullptr;
    std::atomic<std::size_t> bucket{0};  ///< written by the task before it can be found
    std::int64_t deadline_ns = 0;
    bool has_timed_out = false;
};

struct Task {
    Birth birth;
    /// Who runs it, or ran it last. Written by the worker that enters it, read by the task.
    std::atomic<Worker*> worker{nullptr};
    /// Where it runs, or ran last. Written by that core's worker, and by who makes it ready again.
    Core* core = nullptr;
    /// Where it goes when it is woken or yields, even if others have taken it from there, once that
    /// core has switched again or has nothing to run: so neighbours, who were given one core, do
    /// not disperse. Written before it is ready for the first time.
    Core* home = nullptr;
    /// Switches of `home` when it was taken from there. Written by who took it, read by who
    /// makes it ready again.
    std::uint64_t switches_of_home = 0;
    Task* next = nullptr;  ///< in a queue
    std::uint32_t number = 0;
    Sleep sleep;
    BasicPhase<platform::RealAtomics> phase;
};

}  // namespace headway::ult
