// SPDX-License-Identifier: Apache-2.0
//
// How a process whose threads do not sleep in the kernel is told by others that a word of the node
// heap has changed. Only the process itself can wake its sleepers; it says here in which buckets
// (hashes of a word's address) there are some, and others ring for a bucket.
//
// No wake-up is lost: a sleeper announces itself, passes the fence (1), looks at its word. Who
// wakes has changed the word, passes the fence (2), looks for sleepers. Whichever fence comes
// first, one sees the other. The same with bell and sleepers of the bell, by the fence (4).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.hpp"

namespace headway::sync {

/// One a process, in the node heap. All bytes zero: nobody sleeps. Models have fewer buckets.
template <typename Atomics, std::size_t buckets = 512>
class BasicOutsideBell {
  public:
    static constexpr std::size_t bucket_count = buckets;

    /// Where sleepers on the word at `address` are announced.
    static std::size_t bucket_of(std::uintptr_t address) noexcept
    {
        static_assert(std::has_single_bit(buckets) && buckets >= 64);
        return (address * 0x9E3779B97F4A7C15U) >> (64 - std::countr_zero(buckets));
    }

    /// Somebody is about to sleep on a word of the bucket, whom the process's threads wake (else
    /// the kernel does). Looks at its word afterwards. Thread rule: this and move_out() with a lock
    /// of the bucket in hand.
    void move_in(std::size_t bucket, bool is_in_kernel) noexcept
    {
        Set& set = is_in_kernel ? in_kernel_ : inhabited_;
        // Relaxed, here and in move_out(): ordered by the fence.
        set[bucket / 64].fetch_or(bit(bucket), std::memory_order_relaxed);
        Atomics::fence_full();  // (1) sequentially consistent, pairs with (2)
    }
    /// The last one has left.
    void move_out(std::size_t bucket, bool is_in_kernel) noexcept
    {
        Set& set = is_in_kernel ? in_kernel_ : inhabited_;
        set[bucket / 64].fetch_and(~bit(bucket), std::memory_order_relaxed);
    }

    /// After the change of a word, before the functions below.
    static void publish() noexcept
    {
        Atomics::fence_full();  // (2) sequentially consistent, pairs with (1)
    }
    /// Whether the caller must make the kernel's call for the word. Any process.
    bool has_in_kernel(std::size_t bucket) const noexcept
    {
        // Relaxed: ordered by the fence (2).
        return (in_kernel_[bucket / 64].load(std::memory_order_relaxed) & bit(bucket)) != 0;
    }
    /// Has the process look for sleepers in the bucket, if there are any. True: its workers sleep,
    /// and the caller wakes one on the bell. Any process.
    [[nodiscard]] bool ring(std::size_t bucket) noexcept
    {
        // Relaxed: ordered by the fence (2).
        if ((inhabited_[bucket / 64].load(std::memory_order_relaxed) & bit(bucket)) == 0) {
            return false;
        }
        // Relaxed: published by (3).
        rung_[bucket / 64].fetch_or(bit(bucket), std::memory_order_relaxed);
        // (3) release, pairs with (8) of ult/crew.cpp.
        bell_.fetch_add(1, std::memory_order_release);
        Atomics::fence_full();  // (4) sequentially consistent, pairs with (5) of ult/worker.cpp
        // Relaxed: ordered by the fence.
        return sleepers_.load(std::memory_order_relaxed) != 0;
    }

    /// For the process's own threads: changes with every ring, a futex of the kernel. Who has seen
    /// a change, by an acquire, calls take(). Who sleeps on it adds itself to sleepers(), passes a
    /// full fence, and looks once more.
    typename Atomics::template Atomic<std::uint32_t>& bell() noexcept { return bell_; }
    typename Atomics::template Atomic<std::uint32_t>& sleepers() noexcept { return sleepers_; }

    /// Calls `answer(bucket)` for each that was rung since the last call.
    template <typename Answer>
    void take(Answer&& answer)
    {
        for (std::size_t word = 0; word < words; ++word) {
            // Relaxed, both: what the bell's change has shown is here; what comes later changes
            // it once more.
            if (rung_[word].load(std::memory_order_relaxed) == 0) {
                continue;
            }
            std::uint64_t found = rung_[word].exchange(0, std::memory_order_relaxed);
            for (; found != 0; found &= found - 1) {
                answer(word * 64 + static_cast<std::size_t>(std::countr_zero(found)));
            }
        }
    }

  private:
    static constexpr std::size_t words = buckets / 64;
    using Set = typename Atomics::template Atomic<std::uint64_t>[words];

    static std::uint64_t bit(std::size_t bucket) noexcept
    {
        return std::uint64_t{1} << bucket % 64;
    }

    // Written by the process, read by those that wake.
    alignas(platform::cache_line_bytes) Set inhabited_{};
    Set in_kernel_{};
    // Written by those that wake, taken by the process.
    alignas(platform::cache_line_bytes) Set rung_{};
    alignas(platform::cache_line_bytes) typename Atomics::template Atomic<std::uint32_t> bell_{0};
    // Threads asleep on the bell, or about to. Written by the process, read by those that wake.
    typename Atomics::template Atomic<std::uint32_t> sleepers_{0};
};

using OutsideBell = BasicOutsideBell<platform::RealAtomics>;

}  // namespace headway::sync
