// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/futex.hpp"

namespace headway::platform {

/// A timer of the system as a descriptor, and the sleep that ends when it has run out; other
/// descriptors can be slept for beside it, one of them always (the alarm). Owns what it holds. In a
/// simulated team it runs out at a moment of virtual time.
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

    /// The next sleep also ends when `descriptor` can be read. Once: to hear of it again, call
    /// again. False: the system does not watch it. Thread rule: any thread.
    bool listen(int descriptor) noexcept;

    /// Every sleep from now on also ends when something new is to be read from `descriptor`; then
    /// has_alarm(). Once. False: the system does not watch it. Thread rule: any thread.
    bool set_alarm(int descriptor) noexcept;
    /// Whether the last sleep ended by the alarm, perhaps among others. Thread rule: who slept.
    bool has_alarm() const noexcept { return has_alarm_; }

    /// Sleeps until the timer has run out, which it then has not any more, or until a descriptor
    /// can be read: true. Thread rule: one thread.
    bool sleep() noexcept;

  private:
    void sleep_simulated() noexcept;

    int timer_ = -1;
    int set_ = -1;
    int alarm_ = -1;  ///< written before the thread sleeps, or by itself
    bool has_alarm_ = false;
    // In a simulated team, where one thread runs at a time: times set, a futex, and the moment.
    std::atomic<std::uint32_t> times_set_{0};
    std::int64_t moment_ns_ = Deadline::never().ns();
};

}  // namespace headway::platform
