// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "object/rank_access.hpp"

namespace headway::object {

/// A call on the calling thread began in an observed rank, whose lock the thread holds.
/// `may_adopt`: the thread gets a ring if it has none; without a ring nothing is recorded.
void begin_observed_call(RankAccess& rank, std::uint16_t function, std::int64_t begin_ns,
                         bool may_adopt) noexcept;

/// It ends now; callbacks of tools hear what came up. Nothing happens where the rank is not
/// observed any more.
void end_observed_call(RankAccess& rank, std::uint16_t function, std::int64_t begin_ns) noexcept;

}  // namespace headway::object
