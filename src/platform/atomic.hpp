// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#include "platform/cpu.hpp"
#include "platform/futex.hpp"
#include "platform/process_barrier.hpp"

namespace headway::platform {

/// The Atomics policy: every class of `sync` takes it as its template parameter, so that the very
/// same source runs on the processor and under a model checker. A policy offers
///   Atomic<T>   the interface of std::atomic used with explicit orders;
///   Plain<T>    a variable that is not atomic: a race on it is an error that the checker reports;
///   fence_full   a sequentially consistent fence;
///   fence_compiler   one for who has another thread's barrier strike it (process_barrier.hpp);
///   fence_others   that barrier, for the threads of this process;   self   a thread's name, not 0;
///   wait_on, wake   a futex;   pause(attempt), polite_attempts   a polite spin.
/// All classes over it are plain data without virtual functions: they may lie in memory shared
/// between processes, and all bytes zero is a valid (empty, free) state of them.
struct RealAtomics {
    template <typename T>
    using Atomic = std::atomic<T>;

    template <typename T>
    using Plain = T;

    /// Keeps the compiler, and nothing else, from moving accesses across it.
    static void fence_compiler() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

    /// A full fence here, and in every thread of this process where it is now. Requires
    /// join_thread_barriers().
    static void fence_others() noexcept { pass_thread_barrier(); }

    /// No other living thread of this process has the same. Two instructions.
    static std::uintptr_t self() noexcept
    {
        return reinterpret_cast<std::uintptr_t>(&own_scheduler);
    }

    /// Sequentially consistent fence. The algorithms over it are numbered where they use it.
    static void fence_full() noexcept
    {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
        // ThreadSanitizer does not model fences. None of ours is needed to order plain data: they
        // only decide who wakes whom.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
        std::atomic_thread_fence(std::memory_order_seq_cst);
#pragma GCC diagnostic pop
#else
        std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    }

    static FutexWait wait_on(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                             Deadline deadline) noexcept
    {
        return futex_wait(word, expected, deadline);
    }

    static void wake(const Atomic<std::uint32_t>& word, int count = INT_MAX) noexcept
    {
        futex_wake(word, count);
    }

    /// Turns of a polite wait before one sleeps.
    static constexpr unsigned polite_attempts = 20;

    /// One turn of a polite wait: the core is given away at once, because the one waited for may
    /// need it (more ranks than cores is a normal case).
    static void pause(unsigned /*attempt*/) noexcept { yield_core(); }
};

static_assert(RealAtomics::Atomic<std::uint64_t>::is_always_lock_free);
static_assert(RealAtomics::Atomic<std::uint32_t>::is_always_lock_free);

}  // namespace headway::platform
