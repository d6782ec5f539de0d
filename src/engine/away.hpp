// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/driver.hpp"

namespace headway::engine {

/// The owner of a rank leaves its ownership word, so that others can work for it. What the rank has
/// sent to itself is swept first; who must look at what is left behind is told.
/// Requires: the owner has the word; what is left open is worth an agent, which runs.
/// Thread rule: the owner, inside the library.
void leave_word(Driver& driver);

/// The same before the rank computes. False: on the way out the last of what was open has ended,
/// so the word is the owner's still.
[[nodiscard]] bool leave_open_work(Driver& driver);

/// Gives the word back to its owner, whoever has it now. Ends the job where a dead process has it.
/// The caller sweeps afterwards: bells rung before are gone.
/// Thread rule: the owner.
void take_word(Driver& driver);

}  // namespace headway::engine
