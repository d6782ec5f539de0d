// SPDX-License-Identifier: Apache-2.0
//
// Rounds in which a fixed number of members meet. Each counts itself; the last one does what is to
// be done for all, with what the others have written before in its hands, and ends the round; the
// others see what it did. In the node heap.
#pragma once

#include <cstdint>

#include "platform/atomic.hpp"
#include "platform/cpu.hpp"

namespace headway::sync {

/// Thread rule: each member calls arrive() once a round, and again only when it is over.
template <typename Atomics>
class BasicRoundCounter {
  public:
    /// The round that the caller is about to arrive in.
    std::uint32_t current() const noexcept
    {
        // Relaxed: it changes only after the caller has arrived.
        return number_.load(std::memory_order_relaxed);
    }

    /// True for the last of `size` members: it calls end_round().
    [[nodiscard]] bool arrive(std::uint32_t size) noexcept
    {
        // (1) release, pairs with itself: the last one sees what the others wrote for it, and that
        // they have read what the last round left; acquire, likewise.
        return arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size;
    }

    void end_round(std::uint32_t round) noexcept
    {
        // Relaxed: who arrives in the next round has seen (2).
        arrived_.store(0, std::memory_order_relaxed);
        // (2) release, pairs with (3).
        number_.store(round + 1, std::memory_order_release);
    }

    bool is_over(std::uint32_t round) const noexcept
    {
        // (3) acquire, pairs with (2): what the last one did for all.
        return number_.load(std::memory_order_acquire) != round;
    }

  private:
    // Counted up by each member, set to 0 by the last one.
    alignas(platform::cache_line_bytes)
        typename Atomics::template Atomic<std::uint32_t> arrived_{0};
    // Written by who came last; read by those who wait, who do not see the others arrive.
    alignas(platform::cache_line_bytes) typename Atomics::template Atomic<std::uint32_t> number_{0};
};

using RoundCounter = BasicRoundCounter<platform::RealAtomics>;

}  // namespace headway::sync
