// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platform/futex.hpp"

namespace headway::platform {

/// A timer of the system as a descriptor, and the sleep that ends when it has run out; other
/// descriptors can be slept for beside it. Owns what it holds.
class TimerSleep {
  public:
    TimerSleep() noexcept = default;
    ~TimerSleep();
    TimerSleep(const TimerSleep&) = delete;
    TimerSleep& operator=(const TimerSleep&) = delete;

    /// Once, before all else. False: the system gives no descriptors.
    bool open() noexcept;

    /// The next sleep ends at `moment`, at once if it has passed; replaces what was set before.
    /// Thread rule: any thread.
    void set(Deadline moment) noexcept;

    /// Sleeps until the timer has run out, which it then has not any more. Thread rule: one thread.
    void sleep() noexcept;

  private:
    int timer_ = -1;
    int set_ = -1;
};

}  // namespace headway::platform
