// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "platform/atomic.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

inline constexpr std::uint32_t ranks_per_node_max = 1024;

/// Ranks of the node as a set that all processes change. All bytes zero: empty. In the node heap.
///
/// add, remove and next are sequentially consistent: who adds to one set and then looks at another
/// meets who does the reverse. Who finds itself taken out sees what the taker did before.
/// A spread set has a cache line for each eight ranks: neighbours change it, who run on one core
/// mostly. Models have fewer ranks.
template <typename Atomics, std::uint32_t ranks_max = ranks_per_node_max, bool is_spread = false>
class BasicRankSet {
  public:
    void add(std::uint32_t rank) noexcept
    {
        // (1) sequentially consistent, pairs with (2), (3) and with itself on other sets.
        word_of(rank).fetch_or(bit(rank), std::memory_order_seq_cst);
    }

    /// True for the one caller who took it out.
    bool remove(std::uint32_t rank) noexcept
    {
        // Saves the exchange. (4) acquire, pairs with (2): who was taken out sees what he was taken
        // out for.
        if ((word_of(rank).load(std::memory_order_acquire) & bit(rank)) == 0) {
            return false;
        }
        // (2) sequentially consistent, pairs with (1).
        return (word_of(rank).fetch_and(~bit(rank), std::memory_order_seq_cst) & bit(rank)) != 0;
    }

    /// Whether ranks 0 to `count` - 1 were all in this set or the other when looked at. A word of
    /// the other one has as many ranks, or more.
    template <bool is_other_spread>
    bool covers_with(const BasicRankSet<Atomics, ranks_max, is_other_spread>& other,
                     std::uint32_t count) const noexcept
    {
        for (std::uint32_t first = 0; first < count; first += ranks_a_word) {
            const std::uint32_t rest = std::min(count - first, ranks_a_word);
            const std::uint64_t wanted = ~std::uint64_t{0} >> (64 - rest);
            // (5) sequentially consistent, pairs with (1): of two that add themselves, one sees
            // both.
            const std::uint64_t own = word_of(first).load(std::memory_order_seq_cst);
            const std::uint64_t others = other.bits_from(first);
            if (((own | others) & wanted) != wanted) {
                return false;
            }
        }
        return true;
    }

    /// The ranks of one word, those from `rank` on.
    std::uint64_t bits_from(std::uint32_t rank) const noexcept
    {
        // (6) sequentially consistent, pairs with (1).
        return word_of(rank).load(std::memory_order_seq_cst) >> rank % ranks_a_word;
    }

    bool has(std::uint32_t rank) const noexcept
    {
        // Relaxed: a hint, or the rank's own doing.
        return (word_of(rank).load(std::memory_order_relaxed) & bit(rank)) != 0;
    }

    /// Some rank at or after `from` that was in the set when looked at, or ranks_max. There are
    /// `count` ranks: words behind theirs are not read.
    std::uint32_t next(std::uint32_t from = 0, std::uint32_t count = ranks_max) const noexcept
    {
        for (std::uint32_t rank = from; rank < count; rank += ranks_a_word - rank % ranks_a_word) {
            // (3) sequentially consistent, pairs with (1).
            const std::uint64_t bits =
                word_of(rank).load(std::memory_order_seq_cst) >> rank % ranks_a_word;
            if (bits != 0) {
                return rank + static_cast<std::uint32_t>(std::countr_zero(bits));
            }
        }
        return ranks_max;
    }

  private:
    using Bits = typename Atomics::template Atomic<std::uint64_t>;
    static constexpr std::uint32_t ranks_a_word = is_spread ? 8 : 64;

    struct alignas(is_spread ? platform::cache_line_bytes : alignof(Bits)) Word {
        Bits bits{};
    };

    static std::uint64_t bit(std::uint32_t rank) noexcept
    {
        return std::uint64_t{1} << rank % ranks_a_word;
    }
    Bits& word_of(std::uint32_t rank) noexcept { return words_[rank / ranks_a_word].bits; }
    const Bits& word_of(std::uint32_t rank) const noexcept
    {
        return words_[rank / ranks_a_word].bits;
    }

    Word words_[ranks_max / ranks_a_word] = {};
};

using RankSet = BasicRankSet<platform::RealAtomics>;
using SpreadRankSet = BasicRankSet<platform::RealAtomics, ranks_per_node_max, true>;

}  // namespace headway::engine
