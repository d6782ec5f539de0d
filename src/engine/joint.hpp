// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/driver.hpp"

namespace headway::engine {

/// An op that is complete when all its parts are. Parts are ops of the same rank; each lives at
/// least until the joint op is complete, or has been destroyed after its own completion.
///
/// Life: create_joint, add_part for each part, seal_joint; then wait for it like any other op and
/// destroy_op() it. Thread rule: the rank's executor.

/// Null: the node heap is exhausted.
Op* create_joint(Driver& driver, OpKind kind, std::uint32_t parts_max);
/// Requires: fewer than parts_max parts were added, and the joint op is not sealed.
void add_part(Op* joint, Op* part);
/// No more parts. The joint op may complete in here.
void seal_joint(Driver& driver, Op* joint);

/// A part has completed. Called by whoever completed it; afterwards the waiter may be gone.
void fire_joint(Worker& worker, sync::Waiter* waiter);

}  // namespace headway::engine
