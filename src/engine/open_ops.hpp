// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace headway::engine {

/// What keeps a rank from holding its ownership word while it is outside of the library: operations
/// of it that may need its CPU before they are complete (long receives, offers, collectives), and
/// its threads that rely on the word being free. In one field, as every call looks for either.
class OpenOps {
  public:
    // Relaxed: a count seen late costs one leave more.
    void add() noexcept { field_.fetch_add(1, std::memory_order_relaxed); }
    void remove() noexcept
    {
        // (1) release, pairs with (2): who finds no op open finds them complete.
        field_.fetch_sub(1, std::memory_order_release);
    }
    std::uint32_t count() const noexcept
    {
        // (2) acquire, pairs with (1).
        return static_cast<std::uint32_t>(field_.load(std::memory_order_acquire));
    }
    bool are_any() const noexcept
    {
        // Relaxed: as above.
        return static_cast<std::uint32_t>(field_.load(std::memory_order_relaxed)) != 0;
    }

    /// A thread of the rank is about to sleep in another of its instances, or no longer.
    void add_reliance() noexcept
    {
        field_.fetch_add(reliance, std::memory_order_relaxed);  // relaxed: as above
    }
    void remove_reliance() noexcept
    {
        field_.fetch_sub(reliance, std::memory_order_relaxed);  // relaxed: as above
    }
    bool leave_word_free() const noexcept
    {
        return field_.load(std::memory_order_relaxed) != 0;  // relaxed: as above
    }

  private:
    static constexpr std::uint64_t reliance = std::uint64_t{1} << 32U;

    // Ops in the lower half, counted up by the executor, down by whoever completes; in the upper
    // half the threads, counted by themselves. Read by the owner when it leaves the library.
    std::atomic<std::uint64_t> field_{0};
};

}  // namespace headway::engine
