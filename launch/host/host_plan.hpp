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
        std::vector<std::string> shared_libraries;  ///< not to be private to a rank
    };
    /// Those that have ranks here. Ranks are numbered program by program.
    std::vector<Program> programs;
    int first_rank = 0;      ///< number in the job of the first rank here
    int job_rank_count = 0;  ///< 0: every process of the job hosts as many as this one
    /// Another process says what is wrong with the first program: it has the ranks before these.
    bool continues_program = false;
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

    int rank_count() const noexcept;  ///< of this process
};

/// The plan of a process that has `count` of the ranks of `whole`, from `first` on.
HostPlan part_of(const HostPlan& whole, int first, int count);

std::string to_bytes(const HostPlan& plan);

/// Failure: the bytes are no plan.
base::Result<HostPlan> read_plan(std::span<const std::byte> bytes);

}  // namespace headway::launch
