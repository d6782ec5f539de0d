// SPDX-License-Identifier: Apache-2.0
//
// Who sleeps on which word: the kernel's futexes for tasks, and beside them for the threads of the
// process that are none.
//
// No wake-up is lost: a sleeper looks at the word with the bucket's lock in hand and leaves its
// place in the list before it lets go. Who wakes has changed the word, then takes the lock: after
// the sleeper, and finds it; or before, and the sleeper finds the change.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "platform/cpu.hpp"
#include "platform/futex.hpp"
#include "platform/scheduler.hpp"
#include "ult/spin_lock.hpp"
#include "ult/task.hpp"

namespace headway::ult {

/// A chain of tasks taken out, linked by Task::next.
struct Woken {
    Task* first = nullptr;
    bool is_in_kernel = false;  ///< threads may sleep on the word in the kernel
};

/// Any thread.
class Bedroom {
  public:
    using Word = std::atomic<std::uint32_t>;

    /// Puts the task to bed; its context is to be left next. False: the word has another value.
    [[nodiscard]] bool lie_down(Task& task, const Word& word, std::uint32_t expected,
                                std::int64_t deadline_ns);

    /// The task is awake again. True: by its deadline.
    [[nodiscard]] bool get_up(Task& task);

    /// Takes out up to `count` tasks that sleep on `word`; their phase is the caller's to settle.
    [[nodiscard]] Woken take(const Word& word, int& count) noexcept;

    /// Takes out this task, whatever it sleeps on; null: it does not sleep.
    [[nodiscard]] Task* take_task(Task& task) noexcept;

    /// Takes out those whose deadline is over at `now_ns`.
    [[nodiscard]] Task* take_due(std::int64_t now_ns) noexcept;

    /// When the first sleeper is due. Relaxed: a look; who must not miss one looks after a fence.
    std::int64_t first_due_ns() const noexcept
    {
        return first_due_ns_.load(std::memory_order_relaxed);
    }

    /// The calling thread, which is no task, sleeps in the kernel.
    platform::FutexWait sleep_in_kernel(const Word& word, std::uint32_t expected,
                                        std::int64_t deadline_ns) noexcept;

  private:
    struct alignas(platform::cache_line_bytes) Bucket {
        SpinLock lock;
        /// Threads that sleep in the kernel on a word of this bucket, or are about to.
        std::uint32_t in_kernel = 0;
        Task* first = nullptr;
        Task* last = nullptr;
    };

    static constexpr std::size_t bucket_count = 256;

    static std::size_t index_of(const Word& word) noexcept;
    static void unlink(Bucket& bucket, Task& task) noexcept;
    void update_first_due() noexcept;

    std::array<Bucket, bucket_count> buckets_;
    SpinLock deadlines_lock_;  ///< taken before the lock of a bucket
    std::set<std::pair<std::int64_t, Task*>> deadlines_;
    std::atomic<std::int64_t> first_due_ns_{platform::Deadline::never().ns()};
};

}  // namespace headway::ult
