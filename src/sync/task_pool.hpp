// SPDX-License-Identifier: Apache-2.0
//
// A task of one thread in which others of its process take part while they wait for something
// else. Private to a process.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// Bytes, or whatever is counted, that several threads may work through in pieces. It stays with
/// the thread that has it to do.
template <typename Atomics>
class BasicTask {
  public:
    /// Works through [from, to). Thread rule: several at once, ranges that do not overlap.
    using Body = void (*)(const void* context, std::uint64_t from, std::uint64_t to);

    BasicTask(std::uint64_t total, std::uint64_t piece, Body body, const void* context) noexcept
        : body_(body), context_(context), total_(total), piece_(piece)
    {
    }

    /// Works through pieces until all are taken; false: all were. Thread rule: any.
    bool work() noexcept
    {
        bool has_worked = false;
        for (;;) {
            // Relaxed: pieces are disjoint; what they need and make is ordered by the pool.
            const std::uint64_t from = taken_.fetch_add(piece_, std::memory_order_relaxed);
            if (from >= total_) {
                return has_worked;
            }
            body_(context_, from, std::min(from + piece_, total_));
            has_worked = true;
        }
    }

  private:
    const Body body_;
    const void* const context_;
    const std::uint64_t total_;
    const std::uint64_t piece_;
    // First that nobody has taken. Written by all who take part.
    typename Atomics::template Atomic<std::uint64_t> taken_{0};
};

/// Where threads that wait find a task: one at a time, as who has a second one does it alone.
template <typename Atomics>
class BasicTaskPool {
  public:
    /// A hint: relaxed. Thread rule: any.
    bool has_task() const noexcept { return open_.load(std::memory_order_relaxed) != nullptr; }

    /// Takes part in the task that is there; false: there was none, or nothing left of it.
    /// Thread rule: any, but that of the task.
    bool help() noexcept
    {
        // (1) sequentially consistent, pairs with (4): either the task's thread sees this visitor,
        // or (2) finds the task gone.
        visitors_.fetch_add(1, std::memory_order_seq_cst);
        // (2) sequentially consistent, as (1); pairs with (3): the task is whole, with all that its
        // thread had done before.
        BasicTask<Atomics>* const task = open_.load(std::memory_order_seq_cst);
        const bool has_worked = task != nullptr && task->work();
        // (5) release, pairs with (6): what was done here comes before the task's end.
        if (visitors_.fetch_sub(1, std::memory_order_release) == 1) {
            Atomics::wake(visitors_);
        }
        return has_worked;
    }

    /// Works through the whole task, with those who come. `call_others()` is called once others can
    /// find it, and not at all where another task is in the way. Returns when nobody touches the
    /// task any more. Thread rule: any.
    template <typename CallOthers>
    void run(BasicTask<Atomics>& task, CallOthers&& call_others)
    {
        BasicTask<Atomics>* none = nullptr;
        // (3) sequentially consistent, pairs with (2).
        if (!open_.compare_exchange_strong(none, &task, std::memory_order_seq_cst,
                                           std::memory_order_relaxed)) {
            (void)task.work();
            return;
        }
        call_others();
        (void)task.work();
        open_.store(nullptr, std::memory_order_seq_cst);  // (4) pairs with (1) and (2)
        for (;;) {
            // (6) sequentially consistent, pairs with (5) and, after (4), with (1).
            const std::uint32_t visitors = visitors_.load(std::memory_order_seq_cst);
            if (visitors == 0) {
                return;
            }
            (void)Atomics::wait_on(visitors_, visitors, platform::Deadline::never());
        }
    }

  private:
    typename Atomics::template Atomic<BasicTask<Atomics>*> open_{nullptr};
    // Threads that may have the task's address. Written by them, read by the task's thread.
    typename Atomics::template Atomic<std::uint32_t> visitors_{0};
};

using Task = BasicTask<platform::RealAtomics>;
using TaskPool = BasicTaskPool<platform::RealAtomics>;

}  // namespace headway::sync
