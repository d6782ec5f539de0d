// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace headway::engine {

inline constexpr std::uint32_t ranks_per_node_max = 1024;

/// Ranks of the node as a set that all processes change. All bytes zero: empty. In the node heap.
///
/// add, remove and is_empty are sequentially consistent: who adds itself to one set and then looks
/// at another meets who does the reverse.
class RankSet {
  public:
    void add(std::uint32_t rank) noexcept
    {
        // (1) sequentially consistent, pairs with (2), (3) and with itself on other sets.
        words_[rank / 64].fetch_or(bit(rank), std::memory_order_seq_cst);
    }

    /// True for the one caller who took it out.
    bool remove(std::uint32_t rank) noexcept
    {
        // Relaxed: a hint that saves the exchange.
        if ((words_[rank / 64].load(std::memory_order_relaxed) & bit(rank)) == 0) {
            return false;
        }
        // (2) sequentially consistent, pairs with (1).
        return (words_[rank / 64].fetch_and(~bit(rank), std::memory_order_seq_cst) & bit(rank)) !=
               0;
    }

    /// Some rank at or after `from` that was in the set when looked at, or ranks_per_node_max.
    std::uint32_t next(std::uint32_t from = 0) const noexcept
    {
        for (std::uint32_t word = from / 64; word < word_count; ++word) {
            // (3) sequentially consistent, pairs with (1).
            std::uint64_t bits = words_[word].load(std::memory_order_seq_cst);
            if (word == from / 64) {
                bits &= ~std::uint64_t{0} << from % 64;
            }
            if (bits != 0) {
                return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
            }
        }
        return ranks_per_node_max;
    }

  private:
    static constexpr std::uint32_t word_count = ranks_per_node_max / 64;

    static std::uint64_t bit(std::uint32_t rank) noexcept { return std::uint64_t{1} << rank % 64; }

    std::atomic<std::uint64_t> words_[word_count] = {};
};

}  // namespace headway::engine
