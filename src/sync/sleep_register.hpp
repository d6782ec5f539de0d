// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// Which instances of a rank may have traffic, and in which ones a thread sleeps that relies on all
/// others being left free. Sets have a bit for each. Thread rule: any thread of the rank.
///
/// No sleeper relies on less than all: it says that it sleeps (a), then looks which are open (b).
/// Who opens one does so (c), then looks who sleeps (d). These four have one order: if (c) comes
/// before (b), the sleeper knows of it; else (a) comes before (d), and it is woken.
template <typename Atomics>
class BasicSleepRegister {
  public:
    using Set = std::uint32_t;

    explicit BasicSleepRegister(Set open) noexcept : open_(open) {}

    /// From now on there may be traffic in it. Those in which a thread has to be woken, which did
    /// not count on that.
    [[nodiscard]] Set open(Set instance) noexcept
    {
        // (1) sequentially consistent, pairs with (2).
        const Set before = open_.fetch_or(instance, std::memory_order_seq_cst);
        return (before & instance) == 0 ? asleep_.load(std::memory_order_seq_cst) : 0;  // (1)
    }
    Set open_but(Set instance) const noexcept
    {
        // Relaxed: who uses what is open has heard of it from who opened it; others may look late.
        return open_.load(std::memory_order_relaxed) & ~instance;
    }

    /// A thread of `own` is about to sleep, which a bell of that instance wakes from now on. The
    /// others, which it has to rely on.
    [[nodiscard]] Set begin_sleep(Set own) noexcept
    {
        // (2) sequentially consistent, pairs with (1). For asleep_but() the other instance's lock
        // orders it, which the thread passes next and who asks has in hand.
        asleep_.fetch_or(own, std::memory_order_seq_cst);
        return open_.load(std::memory_order_seq_cst) & ~own;  // (2)
    }
    void end_sleep(Set own) noexcept
    {
        asleep_.fetch_and(~own, std::memory_order_relaxed);  // relaxed: a wake too many
    }
    Set asleep_but(Set instance) const noexcept
    {
        return asleep_.load(std::memory_order_relaxed) & ~instance;  // relaxed: see begin_sleep()
    }

  private:
    // Written by threads about to sleep, under the lock of their instance, read with another one's.
    typename Atomics::template Atomic<Set> asleep_{0};
    // Written under the first instance's lock; read by all threads.
    typename Atomics::template Atomic<Set> open_;
};

using SleepRegister = BasicSleepRegister<platform::RealAtomics>;

}  // namespace headway::sync
