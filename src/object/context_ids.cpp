// SPDX-License-Identifier: Apache-2.0
#include "object/context_ids.hpp"

#include <algorithm>
#include <bit>

namespace headway::object {

namespace {

/// Between bit 0 and the bit of those that are spread: a leader and his number.
constexpr unsigned name_bits = 29;
/// Who forgets to free communicators is told, instead of running out of memory later.
constexpr std::uint32_t alive_most = 4095;

}  // namespace

ContextIds::ContextIds(std::uint32_t rank, std::uint32_t job_ranks) noexcept
    : number_bits_(name_bits - static_cast<unsigned>(std::bit_width(job_ranks))),
      alive_max_(std::min(alive_most, (1U << number_bits_) - 1)),
      first_((rank + 1) << (number_bits_ + 1))
{
}

std::uint32_t ContextIds::pick(bool is_spread)
{
    if (picked_.size() == alive_max_) {
        return 0;
    }
    // There are more numbers than can be alive, so one of them is free.
    while (true) {
        const std::uint32_t number = next_number_;
        next_number_ = (next_number_ + 1) & ((1U << number_bits_) - 1);
        const std::uint32_t id = first_ | number << 1U;
        if (!picked_.contains(id) && !picked_.contains(id | spread_bit)) {
            const std::uint32_t picked = id | (is_spread ? spread_bit : 0);
            picked_.insert(picked);
            return picked;
        }
    }
}

void ContextIds::hold(std::uint32_t id)
{
    if (id > ground) {
        held_.insert(id);
    }
}

void ContextIds::drop(std::uint32_t id)
{
    held_.erase(id);
    picked_.erase(id);
}

std::uint32_t ContextIds::number(std::uint32_t id) const noexcept
{
    return id >> 1U & ((1U << number_bits_) - 1);
}

}  // namespace headway::object
