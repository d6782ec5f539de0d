// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "placement.hpp"

namespace headway::launch {

/// Cores that the ranks of a job leave to the threads that move their messages.
struct Reservation {
    std::vector<int> cpus;    ///< one a thread; where a core has several, the others stay idle
    std::string description;  ///< "core 0 (cpu 0)"
    std::vector<int> left;    ///< cpus that ranks may use
};

/// The list of HEADWAY_PROGRESS=dedicated[:list] or --progress in a job's environment; false: the
/// job has another executor.
bool find_dedicated(const std::vector<std::string>& inherited,
                    const std::vector<std::pair<std::string, std::string>>& set, std::string& list);

/// Chooses cores among those mpiexec may use: those of the listed cpus, or else the first one.
/// Failure: one sentence with the cure.
base::Result<Reservation> choose_cores(std::string_view list);

/// mpiexec, and with it all that it starts, leaves the reserved cores. Failure: the system refuses.
base::Outcome leave_cores(const Reservation& reservation);

/// Places for processes whose OpenMP threads are to fill the cores that are left: a block each.
base::Result<std::vector<Place>> share_cores(int rank_count);

/// What a rank's OpenMP runtime is told, as it stands in its environment: a thread a core of
/// `place` and the places of those cores, not more than the user has not set. A rank that is not
/// bound gets a number of threads only, `threads`.
std::vector<std::pair<std::string, std::string>> openmp_settings(const Place& place, int threads);

/// Cpus of explicit OMP_PLACES, as "{0,1},{2:2:1}:3:2". Failure: it is none, and its cpus are the
/// OpenMP runtime's to choose ("cores(4)"), which keeps to the cpus that the rank may use.
base::Result<std::vector<int>> cpus_of_places(std::string_view text);

/// One sentence if OMP_PLACES names a reserved cpu; else empty.
std::string clash_of_places(const Reservation& reservation, std::string_view places);

}  // namespace headway::launch
