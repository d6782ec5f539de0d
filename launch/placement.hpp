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

/// Places `rank_count` ranks, each on `cpus_per_rank` cores of its own among the cores mpiexec may
/// use. Automatic binding leaves ranks unbound when the cores do not suffice; asked for by name it
/// is then a Failure.
base::Result<std::vector<Place>> place_ranks(Binding binding, int rank_count, int cpus_per_rank);

}  // namespace headway::launch
