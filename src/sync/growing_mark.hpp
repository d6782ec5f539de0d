// SPDX-License-Identifier: Apache-2.0
//
// How far somebody has come, told to whoever looks, and a count of those who may sleep until it is
// farther. In the node heap.
//
// No sleeper is forgotten: who sets a mark passes a full fence, then looks whether anybody is
// counted, and wakes those who have lain down. Who waits counts itself, lies down, passes a fence,
// and looks at the mark once more. If the first fence comes first, the last look sees the mark;
// else the setter sees the count, and who lies there. Where marks are set more often than somebody
// lies down, that one passes a barrier for all who set instead, which strikes each of them before
// it has set its mark or before it looks.
#pragma once

#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// A number that only grows. Thread rule: set() by one thread at a time, has_reached() by anyone.
template <typename Atomics>
class BasicGrowingMark {
  public:
    /// Before the caller looks who sleeps it passes a full fence, or those who do a barrier for it.
    void set(std::uint64_t number) noexcept
    {
        // (1) release, pairs with (2): who sees the number sees what was written before.
        number_.store(number, std::memory_order_release);
    }
    bool has_reached(std::uint64_t number) const noexcept
    {
        // (2) acquire, pairs with (1).
        return number_.load(std::memory_order_acquire) >= number;
    }

  private:
    typename Atomics::template Atomic<std::uint64_t> number_{0};
};

/// Those who wait for marks. Thread rule: anyone.
template <typename Atomics>
class BasicSleeperCount {
  public:
    void come() noexcept
    {
        // (3) sequentially consistent, pairs with the fence of who sets a mark: who does not see it
        // counted has set before the last look of the wait that follows.
        count_.fetch_add(1, std::memory_order_seq_cst);
    }
    void go() noexcept
    {
        // Relaxed: who still sees it counted looks at one word in vain.
        count_.fetch_sub(1, std::memory_order_relaxed);
    }
    /// Requires: the caller has passed a full fence since it set its mark.
    bool is_any_after_fence() const noexcept
    {
        // Relaxed: ordered by the fence.
        return count_.load(std::memory_order_relaxed) != 0;
    }
    /// Requires: whoever waits passes a barrier for all who set marks, between come() and its last
    /// look before it sleeps.
    bool is_any_without_fence() const noexcept
    {
        // (4) the compiler's only, pairs with that barrier.
        Atomics::fence_compiler();
        return is_any_after_fence();
    }

  private:
    typename Atomics::template Atomic<std::uint32_t> count_{0};
};

using GrowingMark = BasicGrowingMark<platform::RealAtomics>;
using SleeperCount = BasicSleeperCount<platform::RealAtomics>;

}  // namespace headway::sync
