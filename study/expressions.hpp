// SPDX-License-Identifier: Apache-2.0
// Values of a symbolic run: blocks of input, and combinations of two values. Equal expressions have
// equal numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "study/contract.hpp"

namespace headway::study {

class Expressions {
  public:
    using Value = std::uint32_t;
    static constexpr Value nothing = 0;

    /// Requires: ranks * blocks below 2^31.
    Expressions(std::uint32_t ranks, std::uint32_t blocks)
        : blocks_(blocks), inputs_(ranks * blocks)
    {
    }

    Value input(Origin origin) const noexcept { return 1 + origin.rank * blocks_ + origin.block; }
    /// `lower` (op) `higher`; of nothing comes nothing.
    Value combine(Value lower, Value higher);

    /// Why `value` is not that block of `count` ranks from `first` on, combined; nothing if it is.
    std::optional<std::string> compare_combined(Value value, Origin first, std::uint32_t count,
                                                bool is_ordered);
    /// Why it is not that input.
    std::optional<std::string> compare_input(Value value, Origin origin) const;

  private:
    bool is_input(Value value) const noexcept { return value <= inputs_; }
    Origin origin_of(Value value) const noexcept
    {
        return {(value - 1) / blocks_, (value - 1) % blocks_};
    }
    std::string describe(Value value) const;

    std::uint32_t blocks_;
    std::uint32_t inputs_;
    std::vector<std::pair<Value, Value>> combined_;  ///< from inputs_ + 1 on
    std::unordered_map<std::uint64_t, Value> known_;
    /// Compared before, with this block, first rank and count.
    struct Compared {
        std::uint32_t block;
        std::uint32_t first;
        std::uint32_t count;
    };
    std::unordered_map<Value, Compared> right_;
};

}  // namespace headway::study
