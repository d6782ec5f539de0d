// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "base/result.hpp"

namespace headway::launch {

/// What the ranks of a program find in their environment besides what the launcher adds.
struct EnvironmentChoice {
    /// Names kept of mpiexec's own environment; all of it when empty.
    std::optional<std::vector<std::string>> kept;
    /// Set in this order, later ones win.
    std::vector<std::pair<std::string, std::string>> set;
};

/// One program of the command line, between two `:`.
struct Program {
    int rank_count = 1;
    bool has_count = false;              ///< the count was given
    std::vector<std::string> arguments;  ///< the first is the program itself
    std::string directory;               ///< empty: where mpiexec was started
    EnvironmentChoice environment;
    std::vector<std::string> shared_libraries;  ///< that ranks of one process have in common
};

enum class Binding { automatic, core, none };
/// What a rank is: a process, or a thread of one process for all ranks, the system's or a
/// user-level one.
enum class RankHost { process, thread, ult };

/// How user-level ranks are run.
struct Scheduling {
    int workers = 0;  ///< 0: one for each cpu that mpiexec may use
    bool binds_ranks = false;
    bool sleeps_suspend = true;  ///< a rank that sleeps or yields lets another one run
    bool reports = false;        ///< says at the end what the workers did
    int seed = 0;                ///< not 0: one worker, and who runs next is drawn
};
enum class Request { run, help, version };

struct Options {
    Request request = Request::run;
    std::vector<Program> programs;
    EnvironmentChoice environment;  ///< for all programs, below their own
    Binding binding = Binding::automatic;
    RankHost rank_host = RankHost::process;
    Scheduling scheduling;
    int stack_kib = 0;           ///< of a rank that is a thread; 0: as ulimit -s says
    int processes_per_node = 1;  ///< that share out the ranks which are threads
    int cpus_per_rank = 1;
    double timeout_s = 0;  ///< 0: none
    bool has_label = false;
    bool reports_bindings = false;
    bool gives_stdin = true;  ///< rank 0 gets mpiexec's standard input
    Allocation hosts;         ///< asked for by name; none: what the batch system says
    int per_host = 0;         ///< ranks of each host; 0: as many as it has slots
    /// Options that mean something where mpiexec.hydra starts the ranks on other machines.
    std::vector<std::string> for_hydra;

    int rank_count() const noexcept;
};

/// Reads a command line (without the name of mpiexec itself). Failure: one sentence that names the
/// option and the cure.
base::Result<Options> parse_options(std::span<const std::string> arguments);

/// The option a user most likely meant by `name` (without dashes); empty when none is near.
std::string nearest_option(std::string_view name);

/// The text of --help.
std::string_view usage() noexcept;

}  // namespace headway::launch
