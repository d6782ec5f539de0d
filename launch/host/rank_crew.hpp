// SPDX-License-Identifier: Apache-2.0
// The workers of a process whose ranks are user-level threads.
#pragma once

#include <headway/interface.h>
#include <sched.h>

#include <cstddef>
#include <string>

#include "host_plan.hpp"
#include "ult/crew.hpp"

namespace headway::launch {

class RankCrew {
  public:
    RankCrew(const HostPlan::Crew& plan, int rank_count);
    RankCrew(const RankCrew&) = delete;
    RankCrew& operator=(const RankCrew&) = delete;

    /// The one of the process; null: ranks are the system's threads. Written before the first rank.
    static RankCrew* of_process() noexcept;

    ult::Crew& crew() noexcept { return crew_; }
    const headway_scheduling& scheduling() const noexcept { return scheduling_; }
    /// What other processes ring; null: there are none. Before the crew starts.
    void listen_to(const headway_outside* outside) noexcept;
    bool sleeps_suspend() const noexcept { return sleeps_suspend_; }

    /// Rank `index` has been born: it may run. Neighbours start on the same worker.
    void admit(ult::Task& task, int index) noexcept;

    /// Lets the calling thread, which a worker has started for its rank, run wherever the process
    /// may.
    void release_thread() const noexcept;

    /// What the workers did, for users; `stack_bytes` is the most that a rank's stack ever held.
    std::string report(std::size_t stack_bytes) const;

  private:
    const int rank_count_;
    const bool sleeps_suspend_;
    cpu_set_t allowed_{};
    ult::Crew crew_;
    const headway_scheduling scheduling_;
};

}  // namespace headway::launch
