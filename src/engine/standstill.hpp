// SPDX-License-Identifier: Apache-2.0
//
// Deadlocks of a whole job: all ranks asleep in the one wait, bells unrung, all agents asleep.
// Then nobody is left who could ring. The rank that lies down last looks twice; where no rank has
// stirred in between (counts of the node heap), it wakes all, each says what it waits for, and the
// last one to do so ends the job. Of a rank whose threads may all call, all threads of the process
// must be known to sleep in MPI: the system says how many there are.
#pragma once

#include "engine/driver.hpp"
#include "engine/wait_note.hpp"

namespace headway::engine {

/// Sleeps on the ownership word of the driver's rank until its bell rings, all ranks stand still,
/// or `alarm`. Requires: prepared to park, in the set of idle ranks.
void sleep_until_rung(Driver& driver, platform::Deadline alarm);

inline bool is_standing_still(Driver& driver) noexcept
{
    // (2) acquire, pairs with (1) of standstill.cpp.
    return driver.node().directory.is_standing_still.load(std::memory_order_acquire) != 0;
}

/// The rank communicates no more. Those that wait for it alone look around.
void note_end(Driver& driver);
/// It begins again.
void note_return(Driver& driver);

/// Says, once, what a wait waits for that goes on at a given moment (HEADWAY_WAITS_TOLD_AT), which
/// mpiexec sets shortly before it ends a job whose time is up. Of ranks that are stuck on several
/// nodes, or beside one that computes, it is the only report.
class LateWait {
  public:
    /// A wait that begins now.
    LateWait(Driver& driver, const WaitNote& note);

    /// When the thread has to be awake for it; never: it has nothing to say, or has said it.
    platform::Deadline alarm() const noexcept { return alarm_; }
    /// Says it if it is time. Requires: the rank's lock.
    void tell_if_due();

  private:
    Driver& driver_;
    const WaitNote& note_;
    platform::Deadline alarm_;
};

/// Says what this thread waits for, and ends the job once all have. Requires: is_standing_still(),
/// and the rank's lock.
[[noreturn]] void report_standstill(Driver& driver, const WaitNote& note);

}  // namespace headway::engine
