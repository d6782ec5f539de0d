// SPDX-License-Identifier: Apache-2.0
#include "study/expressions.hpp"

namespace headway::study {

Expressions::Value Expressions::combine(Value lower, Value higher)
{
    if (lower == nothing || higher == nothing) {
        return nothing;
    }
    const auto next = static_cast<Value>(inputs_ + 1 + combined_.size());
    const auto [place, is_new] = known_.try_emplace(std::uint64_t{lower} << 32 | higher, next);
    if (is_new) {
        combined_.emplace_back(lower, higher);
    }
    return place->second;
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
    if (const auto known = right_.find(value);
        known != right_.end() && known->second.block == first.block &&
        known->second.first == first.rank && known->second.count == count) {
        return std::nullopt;
    }
    std::vector<bool> has(count);
    std::uint32_t leaves = 0;
    std::vector<Value> open{value};
    while (!open.empty()) {
        const Value next = open.back();
        open.pop_back();
        if (!is_input(next)) {
            const auto& [lower, higher] = combined_[next - inputs_ - 1];
            open.push_back(higher);
            open.push_back(lower);
            continue;
        }
        const Origin origin = origin_of(next);
        const bool is_wanted = origin.block == first.block && origin.rank >= first.rank &&
                               origin.rank - first.rank < count;
        if (!is_wanted) {
            return "has " + describe(next) + " combined into it";
        }
        if (has[origin.rank - first.rank]) {
            return "has " + describe(next) + " combined into it twice";
        }
        if (is_ordered && origin.rank - first.rank != leaves) {
            return "has " + describe(next) + " combined into it out of the order of ranks";
        }
        has[origin.rank - first.rank] = true;
        ++leaves;
    }
    if (leaves != count) {
        return "is combined of " + std::to_string(leaves) + " ranks, not of " +
               std::to_string(count);
    }
    right_.insert_or_assign(value, Compared{first.block, first.rank, count});
    return std::nullopt;
}

}  // namespace headway::study
