// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "allocation.hpp"
#include "base/result.hpp"
#include "options.hpp"

namespace headway::launch {

/// Launchers that start processes on other machines, as paths; empty: not there.
struct Launchers {
    std::string srun;
    std::string hydra;
    std::string prterun;
};

/// What PATH holds of them.
Launchers find_launchers();

/// Another launcher's command line, and what is to be set in its environment.
struct Command {
    std::vector<std::string> words;  ///< the first is its path
    std::vector<std::pair<std::string, std::string>> set;
};

/// The command that starts a job of `options` on the hosts of `allocation`: srun within a job of
/// Slurm, else mpiexec.hydra. Failure: no launcher can, or one cannot do what an option asks for.
base::Result<Command> command_on_hosts(const Options& options, const Allocation& allocation,
                                       const Launchers& launchers);

/// Says which launcher starts the job, and becomes it. Returns only with a Failure.
base::Failure hand_over(const Options& options, const Allocation& allocation);

}  // namespace headway::launch
