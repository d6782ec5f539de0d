// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.hpp"
#include "boot/boot.hpp"

namespace headway::boot {

/// The process at each place; empty where every process is at the place of its own number. For this
/// process alone, after find_placement().
base::Result<std::vector<int>> order_by_place(Boot& boot);

/// `order` is what order_by_place() says.
inline int process_at(const std::vector<int>& order, int place)
{
    return order.empty() ? place : order[static_cast<std::size_t>(place)];
}

}  // namespace headway::boot
