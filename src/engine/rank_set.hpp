// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::engine {

inline constexpr std::uint32_t ranks_per_node_max = 1024;

/// Ranks of the node as a set that all processes change. All bytes zero: empty. In the node heap.
///
/// add, remove and next are sequentially consistent: who adds to one set and then looks at another
/// meets who does the reverse. Who finds itself taken out sees what the taker did before.
/// Models have fewer ranks.
template <typename Atomics, std::uint32_t ranks_max = ranks_per_node_max>
class BasicRankSet {
  public:
    void add(std::uint32_t rank) noexcept
    {
        // (1) sequentially consistent, pairs with (2), (3) and with itself on other sets.
        words_[rank / 64].fetch_or(bit(rank), std::memory_order_seq_cst);
    }

    /// True for the one caller who took it out.
    bool remove(std::uint32_t rank) noexcept
    {
        // Saves the exchange. (4) acquire, pairs with (2): who was taken out sees what he was taken
        // out for.
        if ((words_[rank / 64].load(std::memory_order_acquire) & bit(rank)) == 0) {
            return false;
        }
        // (2) sequentially consistent, pairs with (1).
        return (words_[rank / 64].fetch_and(~bit(rank), std::memory_order_seq_cst) & bit(rank)) !=
               0;
    }

    /// Whether ranks 0 to `count` - 1 were all in this set or the other when looked at.
    bool covers_with(const BasicRankSet& other, std::uint32_t count) const noexcept
    {
        for (std::uint32_t word = 0; word * 64 < count; ++word) {
            const std::uint32_t rest = count - word * 64;
            const std::uint64_t wanted =
                rest >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rest) - 1;
            // (5) sequentially consistent, pairs with (1): of two that add themselves, one sees
            // both.
            const std::uint64_t own = words_[word].load(std::memory_order_seq_cst);
            // (6) sequentially consistent, pairs with (1).
            const std::uint64_t others = other.words_[word].load(std::memory_order_seq_cst);
            if (((own | others) & wanted) != wanted) {
                return false;
            }
        }
        return true;
    }

    bool has(std::uint32_t rank) const noexcept
    {
        // Relaxed: a hint, or the rank's own doing.
        return (words_[rank / 64].load(std::memory_order_relaxed) & bit(rank)) != 0;
    }

    /// Some rank at or after `from` that was in the set when looked at, or ranks_max. There are
    /// `count` ranks: words behind theirs are not read.
    std::uint32_t next(std::uint32_t from = 0, std::uint32_t count = ranks_max) const noexcept
    {
        for (std::uint32_t word = from / 64; word * 64 < count; ++word) {
            // (3) sequentially consistent, pairs with (1).
            std::uint64_t bits = words_[word].load(std::memory_order_seq_cst);
            if (word == from / 64) {
                bits &= ~std::uint64_t{0} << from % 64;
            }
            if (bits != 0) {
                return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
            }
        }
        return ranks_max;
    }

  private:
    static constexpr std::uint32_t word_count = ranks_max / 64;

    static std::uint64_t bit(std::uint32_t rank) noexcept { return std::uint64_t{1} << rank % 64; }

    typename Atomics::template Atomic<std::uint64_t> words_[word_count] = {};
};

using RankSet = BasicRankSet<platform::RealAtomics>;

}  // namespace headway::engine
