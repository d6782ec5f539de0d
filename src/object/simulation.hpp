// SPDX-License-Identifier: Apache-2.0
// A job in virtual time: ranks that are threads of this process run one at a time, in an order that
// a seed decides (knob `sim`, docs/design/009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/baton.hpp"

namespace headway::object {

class Simulation {
  public:
    /// The calling thread gets the baton. Of a team: its threads find their seats by themselves, as
    /// the library starts them.
    Simulation(std::uint64_t seed, int ranks);
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    /// Of ranks whose threads somebody else starts: makes a seat for each, and gives the baton away
    /// for good. Before the first one enters.
    void hand_over();
    /// The calling thread becomes rank `index`, once it has the baton. The second thread of a rank
    /// ends the job with a sentence: it would run beside the baton.
    void enter(int index);
    /// The calling rank has ended and the others go on. With the last one the simulation is over:
    /// of the others, which only serve ranks, nobody runs any more.
    void leave();

    /// A line that is the same whenever the seed is repeated. Requires the baton, or the end.
    void report(bool has_failed) const;

  private:
    platform::Baton baton_;
    const int rank_count_;
    std::vector<platform::Scheduler::Seat*> seats_;  ///< null: taken
    int ended_count_ = 0;                            ///< belongs to who has the baton
};

}  // namespace headway::object
