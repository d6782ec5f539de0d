// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a run in which a node has failed. None of its nodes starts any more. Peers who
// wait for a message of it get a frame of kind given_up in its place, so that their runs fail, too,
// and nobody hangs. What comes for it still is taken in and dropped, by receives of its own names,
// so that no other run gets it and no sender waits in vain. The caller's op is complete as soon as
// nothing that has started uses his buffers: messages on their way, readers of what was published.
// After that the instance goes on alone until the last message has come, and needs neither its
// template nor its scope.
#pragma once

#include <cstdint>

#include "engine/graph_instance.hpp"

namespace headway::engine {

/// Ends the run, whose `error` says why. The run may be gone when this returns.
void cancel_run(Driver& driver, GraphInstance* run);

/// Goes on when memory is there again, or an op of the run is over. Requires: is_cancelled, and not
/// stalled. The run may be gone when this returns.
void go_on_cancelling(Driver& driver, GraphInstance* run);

}  // namespace headway::engine
