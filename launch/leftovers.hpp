// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace headway::launch {

/// Processes below `ancestor`, at any depth, zombies left out.
std::vector<pid_t> descendants_of(pid_t ancestor);

/// Processes started with HEADWAY_JOB=`job` in their environment.
std::vector<pid_t> processes_of_job(const std::string& job);

/// Removes the shared memory objects that carry the name of `job`.
void remove_shared_memory(const std::string& job);

/// A process that outlives mpiexec and, should mpiexec be killed, kills what is left of the job.
///
/// The kernel kills the ranks when mpiexec dies, but not what they have started; this process does,
/// and removes the job's shared memory.
class Watcher {
  public:
    /// Requires: no other thread, and standard streams that are open.
    explicit Watcher(const std::string& job);
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;
    /// Sends the watcher home and waits for it.
    ~Watcher();

    /// -1 when it could not be started.
    pid_t pid() const noexcept { return pid_; }

  private:
    pid_t pid_ = -1;
    int line_ = -1;
};

}  // namespace headway::launch
