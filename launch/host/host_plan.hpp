// SPDX-License-Identifier: Apache-2.0
// What mpiexec tells the host program.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace headway::launch {

struct HostPlan {
    struct Program {
        int rank_count = 1;
        std::string directory;  ///< empty: that of the host program
        std::vector<std::string> arguments;
        std::vector<std::string> environment;
    };
    /// Ranks are numbered program by program.
    std::vector<Program> programs;
    /// By rank, as the kernel numbers them; no entries: nobody is bound. An empty one: not bound.
    std::vector<std::vector<int>> cpus;
    int stack_kib = 0;  ///< 0: as the limit of the process says

    /// User-level ranks: who runs them, and how.
    struct Crew {
        bool is_wanted = false;
        int workers = 0;  ///< 0: one for each cpu of the process
        int seed = 0;     ///< not 0: one worker, and who runs next is drawn
        bool binds_ranks = false;
        bool pins_workers = true;
        bool sleeps_suspend = true;
        bool reports = false;
    };
    Crew crew;

    int rank_count() const noexcept;
};

std::string to_bytes(const HostPlan& plan);

/// Failure: the bytes are no plan.
base::Result<HostPlan> read_plan(std::span<const std::byte> bytes);

}  // namespace headway::launch
