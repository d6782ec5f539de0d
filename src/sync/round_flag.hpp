// SPDX-License-Identifier: Apache-2.0
//
// What one of a few parties shows the others: for how many rounds it has come, and who stands for
// it. Each party has a flag that only it writes, so a round costs one line each way, and all see by
// themselves that it is over. In the node heap.
//
//   bits  63 .. 33   32           31 ..... 0
//         who        LIES_DOWN    rounds it has come for, modulo 2^32
//
// No sleeper is forgotten: a party posts (a), passes the fence (3), looks at all flags (b). Of the
// parties of a round the one whose fence comes last sees all of (a), and looks at each flag for
// LIES_DOWN (c). Who is about to sleep shows it (d), passes a fence (4), looks at all flags once
// more (e). If (3) of the last one comes before (4), (e) sees all of (a); else (c) sees (d).
#pragma once

#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// Thread rule: show and show_lying_down by whoever stands for the party, one thread at a time; the
/// questions by anyone.
template <typename Atomics>
class BasicRoundFlag {
  public:
    /// `who` has come for `round`, and what its party wrote before is there for all who see it.
    /// The caller passes a full fence, (3), before it looks at the flags of others.
    void show(std::uint32_t round, std::uint32_t who) noexcept
    {
        // (1) release, pairs with (2).
        word_.store(packed(round, who), std::memory_order_release);
    }

    /// As show(), again: who stands for the party is about to sleep. It passes a full fence, (4),
    /// and looks at all flags once more before it does.
    void show_lying_down(std::uint32_t round, std::uint32_t who) noexcept
    {
        // Release: as (1), for those who see this one first.
        word_.store(packed(round, who) | lies_down, std::memory_order_release);
    }

    /// Whether the party has come for `round`; it may have come for the next one by now.
    bool has_come(std::uint32_t round) const noexcept
    {
        // (2) acquire, pairs with (1).
        const std::uint64_t seen = word_.load(std::memory_order_acquire);
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(seen) - round) > 0;
    }

    /// Calls `wake(who)` where that one may sleep. After a full fence since the caller came.
    template <typename Wake>
    void wake_sleeper(const Wake& wake) const noexcept
    {
        // Relaxed: ordered by the fence (3). A party that has come for the next round meanwhile did
        // not need to be woken for this one, and loses nothing.
        const std::uint64_t seen = word_.load(std::memory_order_relaxed);
        if ((seen & lies_down) != 0) {
            wake(static_cast<std::uint32_t>(seen >> who_shift));
        }
    }

  private:
    static constexpr std::uint64_t lies_down = std::uint64_t{1} << 32;
    static constexpr unsigned who_shift = 33;

    static std::uint64_t packed(std::uint32_t round, std::uint32_t who) noexcept
    {
        return std::uint64_t{who} << who_shift | (round + 1);
    }

    // Written by the party, read by all others.
    typename Atomics::template Atomic<std::uint64_t> word_{0};
};

using RoundFlag = BasicRoundFlag<platform::RealAtomics>;

}  // namespace headway::sync
