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
#include <new>
#include <utility>

#include "platform/atomic.hpp"
#include "platform/cpu.hpp"
#include "platform/mapping.hpp"
#include "platform/memory_copy.hpp"
#include "platform/streaming_copy.hpp"
#include "transport/shm/reading_choice.hpp"
#include "transport/shm/store_choice.hpp"

namespace headway::engine {

struct CopyJob;
struct StagingSlot;

/// Payload of a frame of kind piece. It carries a reference to the job.
struct StagedPiece {
    CopyJob* job = nullptr;
    StagingSlot* slot = nullptr;
    std::uint64_t from = 0;  ///< place in the message
    std::uint64_t bytes = 0;
};

struct StagingSlot {
    static constexpr std::size_t bytes_max = 64 * 1024;

    enum class State : std::uint32_t {
        empty,
        full,
        awaited,  ///< full, and its rank has pieces that cannot go another way
    };

    // Full and awaited are the sender's doing, empty that of whoever took the piece out.
    alignas(platform::cache_line_bytes) std::atomic<State> state{State::empty};
    CopyJob* job = nullptr;  ///< of the piece that was put here last; the sender's executor's
    bool is_new = true;      ///< nothing was put here yet; the sender's executor's
    /// transport::Frame::is_cached. Written by the sender before the frame that publishes the
    /// piece, read by who takes it out.
    bool is_cached = false;
    // A piece that came before its message was matched, or to one who could not take it out: in a
    // list of the job, or of the receiver, until somebody does. The receiver's executor's, then of
    // who has taken it off the list (take_kept).
    StagedPiece kept;
    StagingSlot* next_kept = nullptr;
    alignas(platform::cache_line_bytes) std::byte bytes[bytes_max];

    /// True: the slot's rank waits for it, so ring its bell. Thread rule: whoever took the piece
    /// out of it; the slot is not his any more.
    [[nodiscard]] bool release() noexcept
    {
        // (1) release, pairs with (2) and (3): the piece has been read; acquire, pairs with (3).
        return state.exchange(State::empty, std::memory_order_acq_rel) == State::awaited;
    }
};

/// One rank's slots, which follow it in memory. A slot is made when its turn first comes: what no
/// message has used costs no page. Thread rule: the rank's executor.
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
        while (slots / 2 >= slots_min &&
               ranks * bytes_needed(slots) > std::min(together_max, heap_bytes / 8)) {
            slots /= 2;
        }
        return slots;
    }

    void open(std::uint32_t slots) noexcept { slots_ = slots; }

    /// The next slot in turn, or null where its piece has not been taken out yet. Full slots of
    /// which `is_held(slot)` says that they may be so for long are passed over. Requires: that
    /// does not hold of all.
    template <typename IsHeld>
    StagingSlot* next(IsHeld&& is_held) noexcept
    {
        StagingSlot* const slot = slot_in_turn(is_held);
        // (2) acquire, pairs with (1): what was in it has been read.
        return slot->state.load(std::memory_order_acquire) == StagingSlot::State::empty ? slot
                                                                                        : nullptr;
    }

    /// How many slots beginning with next() are empty and follow each other in memory, so that they
    /// will be given one after the other: `most` at most.
    template <typename IsHeld>
    std::uint32_t count_empty(std::uint32_t most, IsHeld&& is_held) noexcept
    {
        if (most == 0 || next(is_held) == nullptr) {
            return 0;
        }
        std::uint32_t count = 1;
        while (count < most && next_ + count < slots_ &&
               // (4) acquire, as (2).
               slot_at(next_ + count)->state.load(std::memory_order_acquire) ==
                   StagingSlot::State::empty) {
            ++count;
        }
        return count;
    }

    /// next() of one who cannot do without: where it gives null, whoever empties the slot rings.
    template <typename IsHeld>
    StagingSlot* await_next(IsHeld&& is_held) noexcept
    {
        StagingSlot* const slot = slot_in_turn(is_held);
        auto seen = StagingSlot::State::full;
        // (3) release, pairs with (1); acquire, as (2), where the slot has just become empty.
        (void)slot->state.compare_exchange_strong(seen, StagingSlot::State::awaited,
                                                  std::memory_order_acq_rel,
                                                  std::memory_order_acquire);
        return seen == StagingSlot::State::empty ? slot : nullptr;
    }

    /// Takes the slot that next() gave, for the caller to fill with a piece of `job`. The frame
    /// that names it publishes it.
    void take(StagingSlot* slot, CopyJob* job) noexcept
    {
        slot->job = job;
        slot->is_cached = false;
        // Relaxed: see above.
        slot->state.store(StagingSlot::State::full, std::memory_order_relaxed);
        advance();
    }

    /// take(), and fills it; `source` is memory of this process.
    void fill(StagingSlot* slot, CopyJob* job, const std::byte* source, std::size_t bytes) noexcept
    {
        take(slot, job);
        if (std::exchange(slot->is_new, false)) [[unlikely]] {
            // First, and all at once: what new pages cost says nothing of the ways to write.
            platform::prepare_for_writing(slot->bytes, bytes);
        }
        const bool streams = choice_.next_streams();
        const std::uint64_t begin = choice_.is_measured() ? platform::ticks() : 0;
        if (streams) {
            platform::copy_streaming(slot->bytes, source, bytes);
        } else {
            platform::copy_memory(slot->bytes, source, bytes);
            slot->is_cached = true;
        }
        if (begin != 0) {
            const std::uint64_t ticks = platform::ticks() - begin;
            choice_.note(streams, bytes, ticks);
            const std::uint64_t cost = transport::shm::ReadingChoice::cost_of(bytes, ticks);
            least_cost_ = least_cost_ != 0 ? std::min(least_cost_, cost) : cost;
        }
    }

    /// What it costs to fill slots, in ticks for ReadingChoice::cost_bytes; 0 where that is not
    /// known yet.
    std::uint64_t cost() const noexcept { return choice_.cost(); }

    /// The least that it has cost since this was asked last; 0 where nothing was measured.
    std::uint64_t take_least_cost() noexcept { return std::exchange(least_cost_, 0); }

    static constexpr std::uint32_t slots_min = 8;
    /// A round of 1 to 2 MiB: no core's own cache holds it, and little of the shared one goes for
    /// it, which long messages need themselves.
    static constexpr std::uint32_t slots_max = 32;

  private:
    /// Requires: the slots before it are made.
    StagingSlot* slot_at(std::uint32_t number) noexcept
    {
        StagingSlot* const slot = reinterpret_cast<StagingSlot*>(this + 1) + number;
        if (number == slots_made_) [[unlikely]] {
            new (slot) StagingSlot;
            ++slots_made_;
        }
        return slot;
    }

    template <typename IsHeld>
    StagingSlot* slot_in_turn(IsHeld&& is_held) noexcept
    {
        for (;;) {
            StagingSlot* const slot = slot_at(next_);
            // Relaxed: looked at again before it is filled.
            if (slot->state.load(std::memory_order_relaxed) == StagingSlot::State::empty ||
                !is_held(*slot)) {
                return slot;
            }
            advance();
        }
    }

    void advance() noexcept { next_ = next_ + 1 == slots_ ? 0 : next_ + 1; }

    alignas(platform::cache_line_bytes) transport::shm::StoreChoice choice_;
    std::uint64_t least_cost_ = 0;
    std::uint32_t slots_ = 0;
    std::uint32_t next_ = 0;
    std::uint32_t slots_made_ = 0;
};

}  // namespace headway::engine
