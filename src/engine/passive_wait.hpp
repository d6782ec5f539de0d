// SPDX-License-Identifier: Apache-2.0
//
// A wait beside a dedicated cpu: the rank leaves its ownership word to the thread there and waits
// for its ops alone, so that the two do not take turns over the same work.
#pragma once

#include <cstdint>
#include <span>

#include "engine/wait.hpp"

namespace headway::engine {

/// Whether a wait of the driver's rank is to be passive: somebody looks at the rank all the time,
/// the rank has one thread, and what it waits for are ops (HEADWAY_WAIT).
bool waits_passively(Driver& driver, std::span<Op* const> ops);

/// Waits as wait_slowly does. False: it took so long, or the rank lacks something that nobody else
/// can give, that the caller must wait by itself. Requires: waits_passively.
bool wait_passively(Driver& driver, Condition condition, std::span<Op* const> ops,
                    std::int32_t needed);

}  // namespace headway::engine
