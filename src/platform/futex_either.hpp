// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "platform/futex.hpp"

namespace headway::platform {

/// system_wait() on two words at once, the first of this process alone. Where the system cannot
/// (Linux before 5.16), it sleeps on the first one, and not for long.
inline void system_wait_either(const std::atomic<std::uint32_t>& own, std::uint32_t own_expected,
                               const std::atomic<std::uint32_t>& shared,
                               std::uint32_t shared_expected, std::int64_t deadline_ns) noexcept
{
    constexpr std::int64_t short_sleep_ns = 1'000'000;
    constexpr long futex_waitv_number = 449;  // of all processors alike
    constexpr std::uint32_t is_32_bits = 2;
    struct Waiter {
        std::uint64_t value;
        std::uint64_t address;
        std::uint32_t flags;
        std::uint32_t reserved;
    };
    const Waiter waiters[] = {
        {own_expected, reinterpret_cast<std::uintptr_t>(&own), is_32_bits, 0},
        {shared_expected, reinterpret_cast<std::uintptr_t>(&shared), is_32_bits, 0}};
    timespec moment{deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
    timespec* const limit = deadline_ns == Deadline::never().ns() ? nullptr : &moment;
    const long rc =
        ::syscall(futex_waitv_number, waiters, 2, 0, limit, static_cast<long>(CLOCK_MONOTONIC));
    if (rc < 0 && (errno == ENOSYS || errno == EPERM)) {
        const std::int64_t soon_ns = monotonic_ns() + short_sleep_ns;
        (void)system_wait(own, own_expected, soon_ns < deadline_ns ? soon_ns : deadline_ns);
    }
}

}  // namespace headway::platform
