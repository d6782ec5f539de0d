// SPDX-License-Identifier: Apache-2.0
//
// A memory barrier that one thread passes for all: where it is there, whoever publishes often and
// is seldom slept upon needs none of its own (membarrier(2)).
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace headway::platform {

/// From now on this process takes part in barriers of its own and of others. False: the system has
/// none, or does not let this process.
inline bool join_process_barriers() noexcept
{
    return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

/// Every thread of every process that takes part passes a full barrier between the beginning and
/// the end of this call, as the caller does. Costs some microseconds. Requires that the caller's
/// process takes part.
inline void pass_process_barrier() noexcept
{
    (void)::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

/// From now on threads of this process may pass barriers for each other. False: as above.
inline bool join_thread_barriers() noexcept
{
    return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/// As pass_process_barrier(), for the threads of this process alone. Requires that it joined.
inline void pass_thread_barrier() noexcept
{
    (void)::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

}  // namespace headway::platform
