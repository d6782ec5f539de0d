// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "options.hpp"

namespace headway::launch {

/// Where one rank may run.
struct Place {
    std::vector<int> cpus;    ///< as the kernel numbers them; empty: everywhere mpiexec may
    std::string description;  ///< "core 3 (cpu 3,7)", or why there is none
};

struct Core {
    int index;  ///< the operating system's number, for messages
    std::vector<int> cpus;
};

/// The cores mpiexec may use, each with those of its cpus that it may use.
std::vector<Core> usable_cores();

/// A part of consecutive things.
struct Share {
    int first;
    int count;
};

/// The part `index` of `total` things in `parts` as equal as can be.
Share share_of(int total, int parts, int index) noexcept;

/// Shares out the cores mpiexec may use among processes that have workers of their own, each a
/// block of whole cores. Automatic binding leaves processes unbound when there are fewer cores;
/// asked for by name it is then a Failure.
base::Result<std::vector<Place>> place_processes(Binding binding, int process_count);

/// Cpus that mpiexec may use.
int usable_cpu_count() noexcept;

/// Places `rank_count` ranks, each on `cpus_per_rank` cores of its own among the cores mpiexec may
/// use. Automatic binding leaves ranks unbound when the cores do not suffice; asked for by name it
/// is then a Failure.
base::Result<std::vector<Place>> place_ranks(Binding binding, int rank_count, int cpus_per_rank);

}  // namespace headway::launch
