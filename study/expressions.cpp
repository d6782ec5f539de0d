// SPDX-License-Identifier: Apache-2.0
#include "study/expressions.hpp"

#include <algorithm>
#include <utility>

#include "base/mix.hpp"

namespace headway::study {

void Expressions::clear(std::uint32_t ranks, std::uint32_t blocks)
{
    blocks_ = blocks;
    inputs_ = ranks * blocks;
    combined_.clear();
    if (++round_ == 0) {
        known_.clear();
        round_ = 1;
    }
}

/// Where the operands stand, or the free place where they belong.
Expressions::Known& Expressions::place_of(std::uint64_t operands) noexcept
{
    const std::uint64_t mask = known_.size() - 1;
    std::uint64_t place = base::mix(operands) & mask;
    while (known_[place].round == round_ && known_[place].operands != operands) {
        place = (place + 1) & mask;
    }
    return known_[place];
}

void Expressions::make_room()
{
    constexpr std::size_t least = 1024;
    std::vector<Known> before = std::exchange(known_, {});
    known_.resize(std::max(least, 2 * before.size()));
    for (const Known& known : before) {
        if (known.round == round_) {
            place_of(known.operands) = known;
        }
    }
}

Expressions::Range Expressions::range_of(Value value) const noexcept
{
    if (!is_input(value)) {
        return combined_[value - inputs_ - 1].range;
    }
    const Origin origin = origin_of(value);
    return {.block = origin.block, .first = origin.rank, .count = 1, .is_ordered = true};
}

// Two ranges side by side are one.
Expressions::Value Expressions::combine(Value lower, Value higher)
{
    if (lower == nothing || higher == nothing) {
        return nothing;
    }
    if (2 * (combined_.size() + 1) > known_.size()) {
        make_room();
    }
    const std::uint64_t operands = std::uint64_t{lower} << 32 | higher;
    Known& known = place_of(operands);
    if (known.round == round_) {
        return known.value;
    }
    const Range one = range_of(lower);
    const Range other = range_of(higher);
    Range both;
    if (one.count != 0 && other.count != 0 && one.block == other.block) {
        const bool is_in_order = one.first + one.count == other.first;
        if (is_in_order || other.first + other.count == one.first) {
            both = {.block = one.block,
                    .first = std::min(one.first, other.first),
                    .count = one.count + other.count,
                    .is_ordered = is_in_order && one.is_ordered && other.is_ordered};
        }
    }
    known = {operands, static_cast<Value>(inputs_ + 1 + combined_.size()), round_};
    combined_.push_back({lower, higher, both});
    return known.value;
}

std::string Expressions::describe(Value value) const
{
    if (value == nothing) {
        return "what nobody has written";
    }
    if (!is_input(value)) {
        return "a combination";
    }
    const Origin origin = origin_of(value);
    return "block " + std::to_string(origin.block) + " of rank " + std::to_string(origin.rank);
}

std::optional<std::string> Expressions::compare_input(Value value, Origin origin) const
{
    if (value == input(origin)) {
        return std::nullopt;
    }
    return "ends with " + describe(value) + ", not with " + describe(input(origin));
}

std::optional<std::string> Expressions::compare_combined(Value value, Origin first,
                                                         std::uint32_t count, bool is_ordered)
{
    if (value == nothing) {
        return "ends with " + describe(value);
    }
    const Range range = range_of(value);
    if (range.count == count && range.first == first.rank && range.block == first.block &&
        (range.is_ordered || !is_ordered)) {
        return std::nullopt;
    }
    auto fault = compare_leaves(value, first, count, is_ordered);
    if (!fault && !is_input(value)) {
        combined_[value - inputs_ - 1].range = {first.block, first.rank, count, is_ordered};
    }
    return fault;
}

std::optional<std::string> Expressions::compare_leaves(Value value, Origin first,
                                                       std::uint32_t count, bool is_ordered)
{
    has_.assign(count, false);
    open_.assign(1, value);
    std::uint32_t leaves = 0;
    while (!open_.empty()) {
        const Value next = open_.back();
        open_.pop_back();
        if (!is_input(next)) {
            const Combined& both = combined_[next - inputs_ - 1];
            open_.push_back(both.higher);
            open_.push_back(both.lower);
            continue;
        }
        const Origin origin = origin_of(next);
        const bool is_wanted = origin.block == first.block && origin.rank >= first.rank &&
                               origin.rank - first.rank < count;
        if (!is_wanted) {
            return "has " + describe(next) + " combined into it";
        }
        if (has_[origin.rank - first.rank]) {
            return "has " + describe(next) + " combined into it twice";
        }
        if (is_ordered && origin.rank - first.rank != leaves) {
            return "has " + describe(next) + " combined into it out of the order of ranks";
        }
        has_[origin.rank - first.rank] = true;
        ++leaves;
    }
    if (leaves != count) {
        return "is combined of " + std::to_string(leaves) + " ranks, not of " +
               std::to_string(count);
    }
    return std::nullopt;
}

}  // namespace headway::study
