// SPDX-License-Identifier: Apache-2.0
//
// Work of a call that threads of the process share while they wait in MPI: packing of long
// messages by hand. (Bytes on their way are shared among ranks as copy jobs, engine/copy_job.)
#pragma once

#include "engine/driver.hpp"
#include "engine/node.hpp"
#include "sync/task_pool.hpp"

namespace headway::engine {

/// Works through the task, with all threads of this process that wait in MPI and may have a core
/// for it. Requires: the rank's lock, which others have meanwhile; what the caller has read under
/// it may change.
void run_shared(Driver& driver, sync::Task& task);

/// For a thread that waits: takes part in a task of its process, if there is one, without the
/// rank's lock. Requires: that lock.
bool take_part_in_task(Driver& driver);
inline bool help_with_task(Driver& driver)
{
    return driver.node().tasks.has_task() && take_part_in_task(driver);
}

}  // namespace headway::engine
