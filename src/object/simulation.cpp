// SPDX-License-Identifier: Apache-2.0
#include "object/simulation.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include "platform/fatal.hpp"
#include "platform/process.hpp"

namespace headway::object {

Simulation::Simulation(std::uint64_t seed, int ranks) : baton_(seed), rank_count_(ranks) {}

void Simulation::hand_over()
{
    for (int i = 0; i < rank_count_; ++i) {
        seats_.push_back(baton_.add_seat());
    }
    baton_.leave_seat();
}

void Simulation::enter(int index)
{
    platform::Scheduler::Seat* const seat =
        std::exchange(seats_[static_cast<std::size_t>(index)], nullptr);
    if (seat == nullptr) {
        platform::fatal(index,
                        "a simulation (HEADWAY_SIM) runs the main threads of ranks only, and this "
                        "program starts others; unset it");
    }
    baton_.take_seat(seat);
    baton_.name_seat(("rank " + std::to_string(index)).c_str());
}

void Simulation::leave()
{
    if (++ended_count_ == rank_count_) {
        platform::own_scheduler = nullptr;
    } else {
        baton_.leave_seat();
    }
}

void Simulation::report(bool has_failed) const
{
    char line[240];
    std::snprintf(line, sizeof line,
                  "headway: simulation HEADWAY_SIM=%llu of %d ranks: %llu steps, %lld ns, "
                  "schedule %016llx%s\n",
                  static_cast<unsigned long long>(baton_.seed()), rank_count_,
                  static_cast<unsigned long long>(baton_.steps()),
                  static_cast<long long>(baton_.elapsed_ns()),
                  static_cast<unsigned long long>(baton_.digest()),
                  has_failed ? "; it failed, and the same seed repeats it" : "");
    platform::write_error(line);
}

}  // namespace headway::object
