// SPDX-License-Identifier: Apache-2.0
//
// What one of a few parties shows the others: for how many rounds it has come, and who stands for
// it. Each party has a flag that only it writes, so a round costs one line each way, and all see by
// themselves that it is over. In the node heap.
//
//   bits  63 ... 32   31 ..... 0
//         who         rounds it has come for, modulo 2^32
//
// No sleeper is forgotten: a party shows its flag, passes a full fence, looks at all flags. Of the
// parties of a round the one whose fence comes last sees that all have come, and wakes who() of
// each. Who sleeps has passed a fence after it lay down, and looked at all flags once more.
#pragma once

#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// Thread rule: show by whoever stands for the party, one thread at a time; the questions by
/// anyone.
template <typename Atomics>
class BasicRoundFlag {
  public:
    /// `who` has come for `round`, and what its party wrote before is there for all who see it.
    /// The caller passes a full fence before it looks at the flags of others.
    void show(std::uint32_t round, std::uint32_t who) noexcept
    {
        // (1) release, pairs with (2).
        word_.store(std::uint64_t{who} << who_shift | (round + 1), std::memory_order_release);
    }

    /// Whether the party has come for `round`; it may have come for the next one by now.
    bool has_come(std::uint32_t round) const noexcept
    {
        // (2) acquire, pairs with (1).
        const std::uint64_t seen = word_.load(std::memory_order_acquire);
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(seen) - round) > 0;
    }

    /// Who stands for the party, by the newest round that it has come for. One who has come for the
    /// next round by now did not need to be woken for this one.
    std::uint32_t who() const noexcept
    {
        // Relaxed: who has seen that it has come has it.
        return static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed) >> who_shift);
    }

  private:
    static constexpr unsigned who_shift = 32;

    // Written by the party, read by all others.
    typename Atomics::template Atomic<std::uint64_t> word_{0};
};

using RoundFlag = BasicRoundFlag<platform::RealAtomics>;

}  // namespace headway::sync
