// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace headway::engine {

/// Where a rank that shares cores with others runs, as far as it knows: it says when it gives its
/// core away and when it has one again, but not when the system takes the core. Who waits for a
/// message of a rank that is on another core looks on; there is no use in that while the rank waits
/// for a core, perhaps for this one.
///
/// In the node heap; all bytes zero: it never had a core. A hint: every access is relaxed, nothing
/// is published by it. Thread rule: written by the rank's threads, read by anybody.
class Presence {
  public:
    /// The rank runs on this processor.
    void come(std::uint32_t processor) noexcept { set((processor + 1) << 1U | has_core); }
    /// It gives its core away.
    void go() noexcept { set(word_.load(std::memory_order_relaxed) & ~has_core); }

    /// Whether it runs on another processor than this one.
    bool is_beside(std::uint32_t processor) const noexcept
    {
        const std::uint32_t word = word_.load(std::memory_order_relaxed);
        return (word & has_core) != 0 && word >> 1U != processor + 1;
    }
    /// Whether this is the processor where it runs, or where it ran before it gave it away.
    bool is_at(std::uint32_t processor) const noexcept
    {
        return word_.load(std::memory_order_relaxed) >> 1U == processor + 1;
    }

  private:
    static constexpr std::uint32_t has_core = 1;

    void set(std::uint32_t word) noexcept
    {
        // Others look at the line: it is written only where that changes something.
        if (word_.load(std::memory_order_relaxed) != word) {
            word_.store(word, std::memory_order_relaxed);
        }
    }

    std::atomic<std::uint32_t> word_{0};
};

}  // namespace headway::engine
