// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

#include "platform/scheduler.hpp"

namespace headway::platform {

/// Granule that keeps two writers apart.
inline constexpr std::size_t cache_line_bytes = 64;

/// Tells the core that this is a spin loop. A few tens of cycles, no system call.
inline void cpu_relax() noexcept
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

/// Whether code for registers of 32 bytes (AVX2) runs here. Functions for them have that target in
/// their declaration; the others need no such processor.
inline bool has_wide_registers() noexcept
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") != 0;
#else
    return false;
#endif
}

/// The same for registers of 64 bytes (AVX-512), of processors that do not slow down for them: what
/// is asked for came with Ice Lake and Zen 4.
inline bool has_line_registers() noexcept
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512vbmi2") != 0;
#else
    return false;
#endif
}

/// Gives the core to another runnable thread, if there is one.
inline void yield_core() noexcept
{
    if (own_scheduler != nullptr) [[unlikely]] {
        own_scheduler->yield();
        return;
    }
    ::sched_yield();
}

/// CLOCK_MONOTONIC in nanoseconds, whoever schedules the calling thread.
inline std::int64_t system_ns() noexcept
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// CLOCK_MONOTONIC in nanoseconds: the clock of every Deadline, one for all processes of a node. In
/// a simulated team its virtual time, which reading does not move.
inline std::int64_t monotonic_ns() noexcept
{
    if (own_scheduler != nullptr) [[unlikely]] {
        return own_scheduler->now_ns();
    }
    return system_ns();
}

/// A clock for differences of some hundred nanoseconds, in units of its own. Those of two cores are
/// as alike as the system keeps them: between threads it is good for hints only.
inline std::uint64_t ticks() noexcept
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<std::uint64_t>(monotonic_ns());
#endif
}

/// ticks() once what this thread has stored so far has left its core, and all of it was done: until
/// then stores cost nothing.
inline std::uint64_t ticks_after_stores() noexcept
{
#if defined(__x86_64__)
    __builtin_ia32_mfence();
    __builtin_ia32_lfence();  // a look at the clock waits for no fence of memory by itself
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    return ticks();
}

}  // namespace headway::platform
