// SPDX-License-Identifier: Apache-2.0
//
// The one wait. Every call that blocks, blocks here: poll, then give the core away, then sleep on a
// futex until a message, a completion or a hand-over. No other loop in the library waits.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "engine/driver.hpp"

namespace headway::engine {

/// A condition on the driver's rank, evaluated under its lock.
struct Condition {
    bool (*holds)(void*);
    void* context;

    bool operator()() const { return holds(context); }
};

/// Blocks until `condition` holds. `ops` are the ops whose completion can make it hold (none: any
/// event can; null ones are over and do not count), `needed` how many of them at least must
/// complete, at most all.
/// Requires: what the condition looks at changes only by progress of this rank or by completion
/// of `ops`.
void wait_slowly(Driver& driver, Condition condition, std::span<Op* const> ops,
                 std::int32_t needed);

template <typename Holds>
void wait_until(Driver& driver, Holds&& holds, std::span<Op* const> ops = {},
                std::int32_t needed = 1)
{
    if (holds()) {
        return;
    }
    // Most waits in a tight exchange end with the first sweeps: no bookkeeping until then.
    driver.progress();
    if (holds()) {
        return;
    }
    using HoldsType = std::remove_reference_t<Holds>;
    wait_slowly(driver,
                {[](void* context) { return (*static_cast<HoldsType*>(context))(); },
                 const_cast<void*>(static_cast<const void*>(&holds))},
                ops, needed);
}

/// Blocks until `op` is complete.
inline void wait_for(Driver& driver, Op* op)
{
    Op* const ops[] = {op};
    wait_until(driver, [op] { return op->word.is_complete(); }, ops);
}

}  // namespace headway::engine
