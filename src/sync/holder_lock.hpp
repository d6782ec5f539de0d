// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// Lock of a few hundred instructions between processes, for structures that are not on a message's
/// way. It names its holder, so that the death of one who has it can be told from slowness: waiting
/// ends at a deadline, and holder() says for whom one waited.
///
///   bit 31 WAITED-FOR   30 ... 0 holder + 1, zero: free
///
/// Thread rule: any thread; not recursive. All bytes zero: free.
template <typename Atomics>
class BasicHolderLock {
  public:
    BasicHolderLock() noexcept : word_(0) {}

    [[nodiscard]] bool try_lock(std::uint32_t who) noexcept
    {
        std::uint32_t expected = 0;
        // (1) acquire, pairs with (2).
        return word_.compare_exchange_strong(expected, who + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed);
    }

    /// False at `deadline`.
    [[nodiscard]] bool lock(std::uint32_t who,
                            platform::Deadline deadline = platform::Deadline::never()) noexcept
    {
        for (unsigned attempt = 0; attempt < Atomics::polite_attempts; ++attempt) {
            if (try_lock(who)) {
                return true;
            }
            Atomics::pause(attempt);
        }
        for (;;) {
            // Relaxed: the exchanges decide.
            std::uint32_t seen = word_.load(std::memory_order_relaxed);
            if (seen == 0) {
                // (3) acquire, pairs with (2). Others may sleep still, so the mark is kept.
                if (word_.compare_exchange_strong(seen, (who + 1) | waited_for,
                                                  std::memory_order_acquire,
                                                  std::memory_order_relaxed)) {
                    return true;
                }
                continue;
            }
            if ((seen & waited_for) == 0 &&
                !word_.compare_exchange_strong(seen, seen | waited_for, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
                continue;
            }
            if (Atomics::wait_on(word_, seen | waited_for, deadline) ==
                platform::FutexWait::timed_out) {
                return false;
            }
        }
    }

    /// Requires: locked by the caller.
    void unlock() noexcept
    {
        // (2) release, pairs with (1) and (3).
        if ((word_.exchange(0, std::memory_order_release) & waited_for) != 0) {
            Atomics::wake(word_, 1);
        }
    }

    /// Who has the lock, or -1. Relaxed: it names, and gives access to nothing.
    std::int32_t holder() const noexcept
    {
        const std::uint32_t seen = word_.load(std::memory_order_relaxed) & ~waited_for;
        return static_cast<std::int32_t>(seen) - 1;
    }

  private:
    static constexpr std::uint32_t waited_for = 1U << 31;

    // Written by lockers; a futex.
    typename Atomics::template Atomic<std::uint32_t> word_;
};

using HolderLock = BasicHolderLock<platform::RealAtomics>;
static_assert(sizeof(HolderLock) == 4);

}  // namespace headway::sync
