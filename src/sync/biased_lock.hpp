// SPDX-License-Identifier: Apache-2.0
//
// Recursive lock that belongs to one thread until another one comes: until then its thread enters
// by a store and a load. The second thread ends that for ever, with one barrier that strikes all
// threads of the process; from then on all queue.
//
//   bit 0 LOCKED   bit 1 SHARED (never cleared)   bit 2 ROUSED   31 ... 3 waiters
//
// 1. A thread that is not the first one locks `word_`, and if it made it SHARED, waits until the
//    first one has left. So of several that come at once one ends the bias, with the lock in hand.
// 2. A waiter is counted in the word from its first failure until it has the lock. While waiters
//    are counted, either somebody is inside, or one of them is awake.
// 3. ROUSED: a waiter is awake, so who leaves need not wake another one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// Thread rule: any thread of one process; an unlock() by a thread that did not lock does nothing.
/// Not for memory that processes share. Waiters are not served in order.
template <typename Atomics>
class BasicBiasedLock {
  public:
    BasicBiasedLock() noexcept : inside_(0), first_(0), owner_(0), word_(shared) {}

    /// The first thread is `name` (its Atomics::self()), inside `depth` times already. Once, before
    /// another thread comes. `can_strike`: this process may use Atomics::fence_others(); without it
    /// the lock is shared from the start.
    void belong_to(std::uintptr_t name, std::uint32_t depth, bool can_strike) noexcept
    {
        // Relaxed, as below: threads that come later learn of the lock from this one.
        if (can_strike) {
            first_.store(name, std::memory_order_relaxed);
            inside_.store(depth, std::memory_order_relaxed);
            word_.store(0, std::memory_order_relaxed);
        } else if (depth != 0) {
            owner_.store(name, std::memory_order_relaxed);
            depth_ = depth;
            word_.store(shared | locked, std::memory_order_relaxed);
        }
    }

    /// False: another thread is inside, or others wait for it; then wait_and_lock().
    [[nodiscard]] bool try_lock() noexcept
    {
        const std::uintptr_t self = Atomics::self();
        // Relaxed: only the first thread finds itself here.
        if (self == first_.load(std::memory_order_relaxed)) [[likely]] {
            // Relaxed: only this thread writes it.
            const std::uint32_t before = inside_.load(std::memory_order_relaxed);
            inside_.store(before + 1, std::memory_order_relaxed);
            // (1) pairs with (2): either this thread sees that the lock is shared, or the thread
            // that shares it sees this one inside.
            Atomics::fence_compiler();
            // Relaxed: zero means that nobody else was ever here.
            if (before != 0 || word_.load(std::memory_order_relaxed) == 0) [[likely]] {
                return true;
            }
            leave_as_first(0);
        }
        return try_lock_shared(self);
    }

    /// Whether try_lock() of another thread would be the first after this lock's only one so far,
    /// and wait for that one to leave. A hint.
    bool is_first_inside() const noexcept
    {
        // Relaxed: a hint.
        return (word_.load(std::memory_order_relaxed) & shared) == 0 &&
               inside_.load(std::memory_order_relaxed) != 0 &&
               first_.load(std::memory_order_relaxed) != Atomics::self();
    }

    /// Sleeps until the lock is there. Requires that try_lock() has just failed.
    void wait_and_lock() noexcept
    {
        // Relaxed, as everywhere in this function but (5): exchanges of one word.
        word_.fetch_add(waiter, std::memory_order_relaxed);
        for (unsigned attempt = 0;; ++attempt) {
            std::uint32_t seen = word_.load(std::memory_order_relaxed);
            if ((seen & locked) == 0) {
                const std::uint32_t mine = ((seen | locked) & ~roused) - waiter;
                // (5) acquire, pairs with (4).
                if (word_.compare_exchange_strong(seen, mine, std::memory_order_acquire,
                                                  std::memory_order_relaxed)) {
                    break;
                }
                continue;
            }
            const bool is_patient = attempt < Atomics::polite_attempts;
            const std::uint32_t next = is_patient ? seen | roused : seen & ~roused;
            if (next != seen &&
                !word_.compare_exchange_strong(seen, next, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
                continue;
            }
            if (is_patient) {
                // Longer from look to look: what the lock guards is warm in the caches of who has
                // it, who may come back for it at once.
                for (unsigned turn = 0; turn <= std::min(attempt, turns_a_look_max); ++turn) {
                    Atomics::pause(attempt);
                }
            } else {
                (void)Atomics::wait_on(word_, next, platform::Deadline::never());
                attempt = 0;
            }
        }
        take(Atomics::self());
    }

    void unlock() noexcept
    {
        // Relaxed: as in try_lock().
        if (Atomics::self() == first_.load(std::memory_order_relaxed)) [[likely]] {
            // Relaxed: only this thread writes it.
            const std::uint32_t before = inside_.load(std::memory_order_relaxed);
            if (before != 0) [[likely]] {
                leave_as_first(before - 1);
                return;
            }
        }
        unlock_shared();
    }

    /// Whether the caller has the lock. Takes nothing from who has it but a look at its line.
    bool is_own() const noexcept
    {
        const std::uintptr_t self = Atomics::self();
        // Relaxed: only who is inside finds itself here.
        return owner_.load(std::memory_order_relaxed) == self ||
               (first_.load(std::memory_order_relaxed) == self &&
                inside_.load(std::memory_order_relaxed) != 0);
    }

    /// How often the caller has locked. Requires: at least once.
    std::uint32_t depth() const noexcept
    {
        // Relaxed: as in try_lock().
        if (Atomics::self() == first_.load(std::memory_order_relaxed)) {
            return inside_.load(std::memory_order_relaxed);
        }
        return depth_;
    }

    /// Another thread stands before the lock. A hint for the one inside.
    bool is_wanted() const noexcept
    {
        // Relaxed: a hint.
        const std::uint32_t seen = word_.load(std::memory_order_relaxed);
        return seen >= waiter ||
               ((seen & locked) != 0 && inside_.load(std::memory_order_relaxed) != 0);
    }

    /// More than one thread has been here.
    bool is_shared() const noexcept
    {
        // Relaxed: a statistic.
        return (word_.load(std::memory_order_relaxed) & shared) != 0;
    }

  private:
    static constexpr std::uint32_t locked = 1U << 0;
    static constexpr std::uint32_t shared = 1U << 1;
    static constexpr std::uint32_t roused = 1U << 2;
    static constexpr std::uint32_t waiter = 1U << 3;
    static constexpr unsigned turns_a_look_max = 16;

    void leave_as_first(std::uint32_t depth) noexcept
    {
        // (3) release, pairs with (6): what this thread did inside.
        inside_.store(depth, std::memory_order_release);
        // As (1): either this thread sees who shares the lock, or that one sees it outside.
        Atomics::fence_compiler();
        if (depth == 0 && word_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
            // From here on it is a thread as any other. Relaxed: see try_lock().
            first_.store(0, std::memory_order_relaxed);
            Atomics::wake(inside_, 1);
        }
    }

    bool try_lock_shared(std::uintptr_t self) noexcept
    {
        // Relaxed: only who is inside finds itself here.
        if (owner_.load(std::memory_order_relaxed) == self) {
            depth_ = depth_ + 1;
            return true;
        }
        std::uint32_t seen = word_.load(std::memory_order_relaxed);
        while ((seen & locked) == 0) {
            // (7) acquire, pairs with (4).
            if (word_.compare_exchange_strong(seen, seen | locked | shared,
                                              std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
                if ((seen & shared) == 0) {
                    end_bias();
                }
                take(self);
                return true;
            }
        }
        return false;
    }

    /// The first thread is on its way out, or will find the lock shared.
    void end_bias() noexcept
    {
        // (2) pairs with (1).
        Atomics::fence_others();
        for (;;) {
            // (6) acquire, pairs with (3).
            const std::uint32_t seen = inside_.load(std::memory_order_acquire);
            if (seen == 0) {
                return;
            }
            (void)Atomics::wait_on(inside_, seen, platform::Deadline::never());
        }
    }

    void take(std::uintptr_t self) noexcept
    {
        // Relaxed: see try_lock_shared().
        owner_.store(self, std::memory_order_relaxed);
        depth_ = 1;
    }

    void unlock_shared() noexcept
    {
        // Relaxed: see try_lock_shared(). A thread that came in before there was a lock has none.
        if (owner_.load(std::memory_order_relaxed) != Atomics::self()) [[unlikely]] {
            return;
        }
        depth_ = depth_ - 1;
        if (depth_ != 0) {
            return;
        }
        // Relaxed: see try_lock_shared().
        owner_.store(0, std::memory_order_relaxed);
        std::uint32_t seen = word_.load(std::memory_order_relaxed);
        for (;;) {
            const bool must_wake = seen >= waiter && (seen & roused) == 0;
            const std::uint32_t next = (seen & ~locked) | (must_wake ? roused : 0);
            // (4) release, pairs with (5) and (7).
            if (word_.compare_exchange_strong(seen, next, std::memory_order_release,
                                              std::memory_order_relaxed)) {
                if (must_wake) {
                    Atomics::wake(word_, 1);
                }
                return;
            }
        }
    }

    // Written by the first thread, read by who makes the lock shared; a futex.
    typename Atomics::template Atomic<std::uint32_t> inside_;
    // The first thread's name, or 0 once it knows that the lock is shared. Written by that thread.
    typename Atomics::template Atomic<std::uintptr_t> first_;
    // Written by who has the lock while it is shared.
    typename Atomics::template Atomic<std::uintptr_t> owner_;
    typename Atomics::template Plain<std::uint32_t> depth_{0};
    // Written by all; a futex.
    typename Atomics::template Atomic<std::uint32_t> word_;
};

using BiasedLock = BasicBiasedLock<platform::RealAtomics>;

}  // namespace headway::sync
