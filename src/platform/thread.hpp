// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "platform/scheduler.hpp"

namespace headway::platform {

/// What the calling thread shows in debuggers and /proc; at most 15 characters.
void name_thread(const char* name) noexcept;

/// Lets the calling thread run on these cores and no others. A refusal leaves things as they are.
void allow_cpus(const std::vector<unsigned>& cpus) noexcept;

/// The processor that the calling thread runs on at this moment.
unsigned current_processor() noexcept;

/// Moves the calling thread to another processor of those it may run on, and lets it run on all of
/// them again. False: there is none, or the system refuses.
bool change_processor() noexcept;

/// The calling thread takes a core that is idle at once, but from one that computes only when the
/// system would change threads anyway (SCHED_BATCH). A refusal leaves things as they are.
void give_way() noexcept;

/// The calling thread runs only where a core has nothing else to do (SCHED_IDLE). A refusal leaves
/// things as they are.
void give_way_to_all() noexcept;

/// The calling thread, which works for moments at a time, takes a core from one that computes as
/// soon as it wakes, where the system knows turns of different lengths (Linux 6.12): it is charged
/// the same, in shorter turns. A refusal leaves things as they are, and so does a class of its own
/// (SCHED_BATCH, SCHED_IDLE, real-time ones).
void take_short_turns() noexcept;

/// While it lives, the calling thread takes no signals, nor do threads that it starts: signals of
/// the process go to the application's threads.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept;
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

/// A thread of this process. Where a scheduler takes the place of the system's, the threads that
/// its threads start have it too.
class Thread {
  public:
    /// False: the system gives none. Requires: not joinable.
    template <typename Body>
    bool start(Body&& body)
    {
        Scheduler* const scheduler = own_scheduler;
        seat_ = scheduler != nullptr ? scheduler->add_seat() : nullptr;
        try {
            thread_ = std::thread([scheduler, seat = seat_, body = std::forward<Body>(body)] {
                if (scheduler == nullptr) {
                    body();
                    return;
                }
                scheduler->take_seat(seat);
                body();
                scheduler->leave_seat();
            });
        } catch (const std::system_error&) {
            if (scheduler != nullptr) {
                scheduler->remove_seat(seat_);
            }
            return false;
        }
        return true;
    }

    bool joinable() const noexcept { return thread_.joinable(); }

    /// Waits for its end. Requires: where it has a scheduler, so has the caller.
    void join()
    {
        if (seat_ != nullptr) {
            own_scheduler->wait_for_end(seat_);
        }
        thread_.join();
    }

  private:
    std::thread thread_;
    Scheduler::Seat* seat_ = nullptr;
};

/// Starts a thread that takes no signals. False: the system gives none.
template <typename Body>
bool start_thread(Thread& thread, Body&& body)
{
    const SignalsBlocked none_here;  // inherited by the thread
    return thread.start(std::forward<Body>(body));
}

}  // namespace headway::platform
