// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace headway::platform {

/// What the calling thread shows in debuggers and /proc; at most 15 characters.
void name_thread(const char* name) noexcept;

/// Lets the calling thread run on these cores and no others. A refusal leaves things as they are.
void allow_cpus(const std::vector<unsigned>& cpus) noexcept;

/// The calling thread takes a core that is idle at once, but from one that computes only when the
/// system would change threads anyway (SCHED_BATCH). A refusal leaves things as they are.
void give_way() noexcept;

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

/// Starts a thread that takes no signals. False: the system gives none.
template <typename Body>
bool start_thread(std::thread& thread, Body&& body)
{
    const SignalsBlocked none_here;  // inherited by the thread
    try {
        thread = std::thread(std::forward<Body>(body));
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

}  // namespace headway::platform
