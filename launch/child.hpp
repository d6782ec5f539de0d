// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace headway::launch {

/// Everything about a rank's process that is decided before it is started.
struct ChildPlan {
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    std::string directory;
    std::vector<int> cpus;   ///< empty: not bound
    bool has_stdin = false;  ///< else /dev/null
    /// The only descriptors besides 0, 1, 2 that it keeps of ours; -1: none.
    int pmi_descriptor = -1;
    int plan_descriptor = -1;
    sigset_t signals{};    ///< blocked signals it starts with
    rlimit descriptors{};  ///< limit it starts with
};

/// Our ends of a started process.
struct Child {
    pid_t pid = -1;
    int out = -1;  ///< its standard output; does not block
    int err = -1;  ///< its standard error; does not block
};

/// Starts a process in a group of its own, without a terminal, that dies when mpiexec does. It has
/// run exec when this returns. Failure: why it could not be started, with the cure where one is
/// known.
base::Result<Child> start_child(const ChildPlan& plan);

}  // namespace headway::launch
