// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace headway::launch {

/// A host of a job, and how many ranks it is to take before the next one does.
struct Host {
    std::string name;
    int slots = 1;

    bool operator==(const Host&) const = default;
};

/// The hosts a job may use. Each stands there once, in the order in which they were named.
struct Allocation {
    std::string source;  ///< who says so, for sentences: "--hosts", "Slurm job 17"; empty: nobody
    bool is_slurm = false;
    std::vector<Host> hosts;  ///< empty: this machine

    /// Whether some host is another machine.
    bool leaves_this_machine() const;
    /// Their names, joined by `separator`, `name:slots` where `shows_slots`.
    std::string list(std::string_view separator, bool shows_slots) const;
};

/// The value of --hosts: names with commas between, each as NAME or NAME:SLOTS. A name that comes
/// again adds its slots. Failure: one sentence, as of all here.
base::Result<Allocation> read_host_list(std::string_view text);

/// A file of hosts as Hydra and Open MPI have it: a host a line, as NAME, NAME:SLOTS or
/// NAME slots=SLOTS; what follows # is for the reader.
base::Result<Allocation> read_host_file(const std::string& path);

/// What a batch system says in `environment` (NAME=VALUE), and the files it names there: Slurm,
/// PBS, LSF, Grid Engine. No hosts where there is none. Failure: it says something that makes no
/// sense.
base::Result<Allocation> find_allocation(const std::vector<std::string>& environment);

/// The names that Slurm's short form of them stands for: `n[1-3,07]-a,login`.
base::Result<std::vector<std::string>> expand_host_names(std::string_view text);

}  // namespace headway::launch
