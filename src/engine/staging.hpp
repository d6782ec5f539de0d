// SPDX-License-Identifier: Apache-2.0
//
// Slots in the node heap through which a rank passes pieces of its long messages to receivers in
// other processes: it copies in while they copy out. A call into the system for the same piece
// costs more, as long as both have nothing else to do (docs/design/013).
//
// The slots are filled in turn, however soon they are empty again: a slot that both cores' own
// caches still hold is a slow one, as each line must be taken from its last reader. After a round
// that no such cache holds, the lines wait in the shared one (`bench_lane` shows it).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/atomic.hpp"
#include "platform/cpu.hpp"
#include "platform/streaming_copy.hpp"
#include "transport/shm/store_choice.hpp"

namespace headway::engine {

struct StagingSlot {
    static constexpr std::size_t bytes_max = 32 * 1024;

    // Set by the sender when it fills the slot, cleared by whoever has emptied it.
    alignas(platform::cache_line_bytes) std::atomic<std::uint32_t> is_full{0};
    alignas(platform::cache_line_bytes) std::byte bytes[bytes_max];

    /// Thread rule: whoever took the piece out of it; the slot is not his any more.
    void release() noexcept
    {
        is_full.store(0, std::memory_order_release);  // (1) release, pairs with (2)
    }
};

/// One rank's slots, which follow it in memory. Plain data; only open() sets what is not zero.
/// Thread rule: the rank's executor.
class Staging {
  public:
    static constexpr std::size_t bytes_needed(std::uint32_t slots) noexcept
    {
        return sizeof(Staging) + slots * sizeof(StagingSlot);
    }

    /// Slots of each of `ranks` in a heap of `heap_bytes`: all of them together stay below an
    /// eighth of it, and 128 MiB, while they can. Untouched pages cost nothing.
    static constexpr std::uint32_t slots_for(std::uint64_t ranks, std::uint64_t heap_bytes) noexcept
    {
        constexpr std::uint64_t together_max = 128ULL * 1024 * 1024;
        std::uint32_t slots = slots_max;
        while (slots > slots_min &&
               ranks * bytes_needed(slots) > std::min(together_max, heap_bytes / 8)) {
            slots /= 2;
        }
        return slots;
    }

    void open(std::uint32_t slots) noexcept { slots_ = slots; }

    /// The next slot in turn, or null where its piece has not been taken out yet.
    StagingSlot* next() noexcept
    {
        StagingSlot* const slot = first() + next_;
        // (2) acquire, pairs with (1): what was in it has been read.
        return slot->is_full.load(std::memory_order_acquire) == 0 ? slot : nullptr;
    }

    /// Fills the slot that next() gave; `source` is memory of this process. The frame that names
    /// the slot publishes it.
    void fill(StagingSlot* slot, const std::byte* source, std::size_t bytes) noexcept
    {
        slot->is_full.store(1, std::memory_order_relaxed);  // relaxed: see above
        next_ = next_ + 1 == slots_ ? 0 : next_ + 1;
        const bool streams = choice_.next_streams();
        const std::uint64_t begin = platform::ticks();
        if (streams) {
            platform::copy_streaming(slot->bytes, source, bytes);
        } else {
            std::memcpy(slot->bytes, source, bytes);
        }
        choice_.note(streams, bytes, platform::ticks() - begin);
    }

    static constexpr std::uint32_t slots_min = 8;
    static constexpr std::uint32_t slots_max = 128;

  private:
    StagingSlot* first() noexcept { return reinterpret_cast<StagingSlot*>(this + 1); }

    alignas(platform::cache_line_bytes) transport::shm::StoreChoice choice_;
    std::uint32_t slots_ = 0;
    std::uint32_t next_ = 0;
};

}  // namespace headway::engine
