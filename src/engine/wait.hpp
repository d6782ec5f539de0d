// SPDX-License-Identifier: Apache-2.0
//
// The one wait. Every call that blocks, blocks here: poll, then give the core away, then sleep on a
// futex until a message, a completion or a hand-over. No other loop in the library waits.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "engine/driver.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

/// What a thread waits for beside ops: for reports, and how long it looks before it sleeps.
enum class WaitReason : std::uint8_t {
    events,
    meeting,     ///< the other members of a communicator
    other_core,  ///< those of them that run on other cores: the rank's worker has run all of its
                 ///< own
};

/// A condition on the driver's rank, evaluated under its lock.
struct Condition {
    bool (*holds)(void*);
    void* context;

    bool operator()() const { return holds(context); }
};

/// Blocks until `condition` holds. `ops` are the ops whose completion can make it hold (none: any
/// event can; null ones are over and do not count), `needed` how many of them at least must
/// complete, at most all.
/// Requires: what the condition looks at changes only by progress of this rank, by completion of
/// `ops`, or by somebody who passes a fence afterwards and looks for PARKED (notify_parked).
void wait_slowly(Driver& driver, Condition condition, std::span<Op* const> ops, std::int32_t needed,
                 WaitReason reason);

template <typename Holds>
void wait_until(Driver& driver, Holds&& holds, std::span<Op* const> ops = {},
                std::int32_t needed = 1, WaitReason reason = WaitReason::events)
{
    if (holds()) {
        return;
    }
    const WaitMark mark(driver);
    // Most waits in a tight exchange end with the first sweeps: no bookkeeping until then.
    driver.progress();
    if (holds()) {
        return;
    }
    using HoldsType = std::remove_reference_t<Holds>;
    wait_slowly(driver,
                {[](void* context) { return (*static_cast<HoldsType*>(context))(); },
                 const_cast<void*>(static_cast<const void*>(&holds))},
                ops, needed, reason);
}

/// Whether it holds at one of so many looks, at least one: for what may come sooner than a sweep
/// ends, before it is waited for.
template <typename Holds>
bool holds_soon(Holds&& holds, unsigned looks)
{
    while (!holds()) {
        if (--looks == 0) {
            return false;
        }
        platform::cpu_relax();
    }
    return true;
}

/// Blocks until `op` is complete.
inline void wait_for(Driver& driver, Op* op)
{
    Op* const ops[] = {op};
    wait_until(driver, [op] { return op->word.is_complete(); }, ops);
}

}  // namespace headway::engine
