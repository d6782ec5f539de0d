// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <limits>

#include "platform/cpu.hpp"

namespace headway::platform {

/// A moment on CLOCK_MONOTONIC, or never.
class Deadline {
  public:
    static constexpr Deadline never() noexcept
    {
        return Deadline(std::numeric_limits<std::int64_t>::max());
    }
    static constexpr Deadline at_ns(std::int64_t moment_ns) noexcept { return Deadline(moment_ns); }
    static Deadline after_ns(std::int64_t interval_ns) noexcept
    {
        const std::int64_t now = monotonic_ns();
        const std::int64_t latest = std::numeric_limits<std::int64_t>::max();
        return interval_ns > latest - now ? never() : Deadline(now + interval_ns);
    }

    constexpr bool is_never() const noexcept { return *this == never(); }
    constexpr std::int64_t ns() const noexcept { return ns_; }
    bool has_passed() const noexcept { return !is_never() && monotonic_ns() >= ns_; }
    constexpr bool operator==(const Deadline&) const noexcept = default;

  private:
    explicit constexpr Deadline(std::int64_t ns) noexcept : ns_(ns) {}
    std::int64_t ns_;
};

constexpr Deadline earlier(Deadline one, Deadline other) noexcept
{
    return one.ns() < other.ns() ? one : other;
}

/// futex_wait() of the system, whoever schedules the calling thread.
inline FutexWait system_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                             std::int64_t deadline_ns) noexcept
{
    static_assert(sizeof(word) == sizeof(std::uint32_t));
    timespec moment{};
    timespec* limit = nullptr;
    if (deadline_ns != Deadline::never().ns()) {
        const std::int64_t ns = deadline_ns > 0 ? deadline_ns : 0;
        moment.tv_sec = ns / 1'000'000'000;
        moment.tv_nsec = ns % 1'000'000'000;
        limit = &moment;
    }
    for (;;) {
        // FUTEX_WAIT_BITSET takes an absolute moment on CLOCK_MONOTONIC, so an interrupted sleep
        // goes on without lengthening the time-out.
        const long rc = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, limit, nullptr,
                                  FUTEX_BITSET_MATCH_ANY);
        if (rc == 0) {
            return FutexWait::awake;
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno == ETIMEDOUT) {
            return FutexWait::timed_out;
        }
        return FutexWait::value_differed;
    }
}

/// futex_wake() of the system.
inline void system_wake(const std::atomic<std::uint32_t>& word, int count) noexcept
{
    ::syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

/// Sleeps while `word` holds `expected`, until a wake or `deadline`. Signals do not end the sleep.
/// The word may lie in memory shared with other processes (never FUTEX_PRIVATE_FLAG).
/// Thread rule: any thread.
inline FutexWait futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                            Deadline deadline) noexcept
{
    if (own_scheduler != nullptr) [[unlikely]] {
        return own_scheduler->wait(word, expected, deadline.ns());
    }
    return system_wait(word, expected, deadline.ns());
}

/// Wakes up to `count` sleepers on `word`, in whatever process they are.
inline void futex_wake(const std::atomic<std::uint32_t>& word, int count = INT_MAX) noexcept
{
    if (own_scheduler != nullptr) [[unlikely]] {
        own_scheduler->wake(word, count);
        return;
    }
    system_wake(word, count);
}

}  // namespace headway::platform
