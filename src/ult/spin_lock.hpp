// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "platform/cpu.hpp"

namespace headway::ult {

/// Gives the core to another kernel thread. The function of the C library would lead back here: the
/// host program shows programs one of its own.
inline void yield_to_kernel() noexcept
{
    ::syscall(SYS_sched_yield);
}

/// For a few instructions at a time, none of which switches contexts or sleeps.
class SpinLock {
  public:
    void lock() noexcept
    {
        // (1) acquire, pairs with (2).
        while (is_taken_.exchange(true, std::memory_order_acquire)) {
            wait_for_holder();
        }
    }
    // (2) release, pairs with (1).
    void unlock() noexcept { is_taken_.store(false, std::memory_order_release); }

  private:
    /// A holder without a core needs this one.
    void wait_for_holder() noexcept
    {
        constexpr unsigned looks_until_yield = 64;
        // Relaxed: the exchange decides.
        for (unsigned looks = 1; is_taken_.load(std::memory_order_relaxed); ++looks) {
            if (looks % looks_until_yield == 0) {
                yield_to_kernel();
            } else {
                platform::cpu_relax();
            }
        }
    }

    std::atomic<bool> is_taken_{false};
};

}  // namespace headway::ult
