// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "ult/spin_lock.hpp"
#include "ult/task.hpp"

namespace headway::ult {

/// Ready tasks, first in first out. Any thread.
class RunQueue {
  public:
    void push(Task& task) noexcept
    {
        const std::lock_guard guard(lock_);
        task.next = nullptr;
        if (last_ == nullptr) {
            first_ = &task;
        } else {
            last_->next = &task;
        }
        last_ = &task;
        add(1);
    }

    /// The one that waits longest; null: there is none.
    Task* pop() noexcept { return pop_nth(0); }

    /// The `n`th, counted modulo how many there are.
    Task* pop_nth(std::uint64_t n) noexcept
    {
        if (size() == 0) {
            return nullptr;
        }
        const std::lock_guard guard(lock_);
        const std::uint32_t count = size();
        if (count == 0) {
            return nullptr;
        }
        Task* before = nullptr;
        Task* task = first_;
        for (std::uint64_t left = n == 0 ? 0 : n % count; left > 0; --left) {
            before = task;
            task = task->next;
        }
        (before == nullptr ? first_ : before->next) = task->next;
        if (task == last_) {
            last_ = before;
        }
        add(~std::uint32_t{0});
        return task;
    }

    /// Relaxed: old when it arrives; whoever must not miss a task looks after a fence.
    std::uint32_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

  private:
    void add(std::uint32_t change) noexcept
    {
        // Relaxed: written under the lock.
        size_.store(size_.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
    }

    SpinLock lock_;
    std::atomic<std::uint32_t> size_{0};  ///< written under the lock, read by all
    Task* first_ = nullptr;
    Task* last_ = nullptr;
};

}  // namespace headway::ult
