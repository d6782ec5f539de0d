// SPDX-License-Identifier: Apache-2.0
// Values of a symbolic run: blocks of input, and combinations of two values. Equal expressions have
// equal numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "study/contract.hpp"

namespace headway::study {

class Expressions {
  public:
    using Value = std::uint32_t;
    static constexpr Value nothing = 0;

    /// Forgets all; keeps its memory. Requires: ranks * blocks below 2^31.
    void clear(std::uint32_t ranks, std::uint32_t blocks);

    Value input(Origin origin) const noexcept { return 1 + origin.rank * blocks_ + origin.block; }
    /// `lower` (op) `higher`; of nothing comes nothing.
    Value combine(Value lower, Value higher);

    /// Why `value` is not that block of `count` ranks from `first` on, combined; nothing if it is.
    std::optional<std::string> compare_combined(Value value, Origin first, std::uint32_t count,
                                                bool is_ordered);
    /// Why it is not that input.
    std::optional<std::string> compare_input(Value value, Origin origin) const;

  private:
    /// A block of some ranks that follow each other, each once.
    struct Range {
        std::uint32_t block = 0;
        std::uint32_t first = 0;
        std::uint32_t count = 0;  ///< 0: it is not known to be one
        bool is_ordered = false;  ///< known to be combined in the order of ranks
    };
    struct Combined {
        Value lower;
        Value higher;
        Range range;
    };
    struct Known {
        std::uint64_t operands = 0;
        Value value = nothing;
        std::uint32_t round = 0;  ///< else it is free
    };

    bool is_input(Value value) const noexcept { return value <= inputs_; }
    Origin origin_of(Value value) const noexcept
    {
        return {(value - 1) / blocks_, (value - 1) % blocks_};
    }
    Range range_of(Value value) const noexcept;
    Known& place_of(std::uint64_t operands) noexcept;
    void make_room();
    std::optional<std::string> compare_leaves(Value value, Origin first, std::uint32_t count,
                                              bool is_ordered);
    std::string describe(Value value) const;

    std::uint32_t blocks_ = 1;
    std::uint32_t inputs_ = 0;
    std::vector<Combined> combined_;  ///< from inputs_ + 1 on
    std::vector<Known> known_;        ///< by operands; a power of two, at most half of it taken
    std::uint32_t round_ = 0;
    std::vector<bool> has_;    ///< while it compares
    std::vector<Value> open_;  ///< likewise
};

}  // namespace headway::study
