// SPDX-License-Identifier: Apache-2.0
// Slots behind the handles of a process, in one reserved address range that stays mapped, so that a
// handle that was freed long ago can still be looked at and is recognised by kind and generation.
//
//   handle = slot address | (generation & 63)        slots are 64 bytes, aligned
//   integer form = handle - base + 4096              32 bits; predefined handles are themselves
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "object/handle.hpp"
#include "platform/call_site.hpp"
#include "sync/biased_lock.hpp"

namespace headway::object {

constexpr std::size_t slot_bytes = 64;
constexpr std::size_t slots_per_block = 64;
constexpr HandleBits generation_mask = slot_bytes - 1;

/// Bytes worth reserving: 16 million live handles a process; the integer form fits 31 bits.
constexpr std::size_t handle_range_bytes = std::size_t{1} << 30;

/// One slot. Written by the rank that owns the block it lies in (under the pool's lock where that
/// rank has several threads), read by any thread of the process.
struct alignas(slot_bytes) Slot {
    /// kind << 8 | (generation & 63); 0 while the slot holds nothing.
    std::atomic<std::uint32_t> key;
    std::uint32_t generation;
    std::atomic<void*> object;
    /// Next slot of the pool's queue of freed slots, as an index; only the pool touches it.
    std::uint32_t next_freed;
};
static_assert(sizeof(Slot) == slot_bytes);

/// The slots of a process. Plain arithmetic on a range that the owner of the process maps
/// (demand-zero, no reserve) and never unmaps while a handle may be used.
/// Thread rule: all calls from any thread; lookups take no lock.
class HandleTable {
  public:
    /// Requires `range` zeroed, aligned to `slot_bytes`, not above 2^31 - 4096 bytes, no address in
    /// it below `predefined_limit`.
    explicit HandleTable(std::span<std::byte> range) noexcept;

    /// The object behind `bits`, or null where it is no live handle of that kind. Predefined
    /// handles are not in the table.
    void* find(Kind kind, HandleBits bits) const noexcept
    {
        const HandleBits offset = bits - base_;
        if (offset >= size_bytes_) {
            return nullptr;
        }
        const Slot& slot = slots_[offset / slot_bytes];
        const std::uint32_t wanted = key_of(kind, bits);
        // (1) acquire, pairs with (2) and (3): the object of this generation is seen.
        if (slot.key.load(std::memory_order_acquire) != wanted) {
            return nullptr;
        }
        // relaxed: published before the key, see (1).
        return slot.object.load(std::memory_order_relaxed);
    }

    template <typename Object, typename Handle>
    Object* find(Handle handle) const noexcept
    {
        return static_cast<Object*>(find(HandleTraits<Handle>::kind, bits_of(handle)));
    }

    /// True where `bits` lies in the range, live or not: a handle that was freed, or made up.
    bool is_in_range(HandleBits bits) const noexcept { return bits - base_ < size_bytes_; }

    /// The 32-bit form of any handle, -1 for bits that are no handle.
    int to_integer(HandleBits bits) const noexcept
    {
        if (is_predefined(bits)) {
            return static_cast<int>(bits);
        }
        return is_in_range(bits) ? static_cast<int>(bits - base_ + predefined_limit) : -1;
    }

    /// The opposite of to_integer; 0, which is no handle, for integers that it never answers.
    HandleBits from_integer(int integer) const noexcept
    {
        if (integer < 0) {
            return 0;
        }
        const auto bits = static_cast<HandleBits>(integer);
        if (is_predefined(bits)) {
            return bits;
        }
        return bits - predefined_limit < size_bytes_ ? bits - predefined_limit + base_ : 0;
    }

  private:
    friend class HandlePool;

    static constexpr std::uint32_t key_of(Kind kind, HandleBits bits) noexcept
    {
        return static_cast<std::uint32_t>(kind) << 8U |
               static_cast<std::uint32_t>(bits & generation_mask);
    }

    /// First slot of a block that nobody else has, or `no_block`.
    std::uint32_t take_block() noexcept;
    static constexpr std::uint32_t no_block = std::numeric_limits<std::uint32_t>::max();

    Slot* slots_;
    HandleBits base_;
    std::size_t size_bytes_;
    /// Blocks handed out; written by any pool.
    std::atomic<std::uint32_t> blocks_taken_{0};
};

/// A rank's slots. Takes them from the table in blocks; a freed slot waits in a queue until
/// `quarantine` other slots have been freed after it, so that stale handles stay recognisable.
/// Thread rule: one thread at a time, or any where `is_shared` (MPI_THREAD_MULTIPLE).
class alignas(64) HandlePool {
  public:
    /// Where a live handle was made. Requires track_origins().
    struct Origin {
        Kind kind;
        HandleBits bits;
        const platform::Frames* frames;
    };

    HandlePool(HandleTable& table, std::uint32_t quarantine, bool is_shared) noexcept;
    HandlePool(const HandlePool&) = delete;
    HandlePool& operator=(const HandlePool&) = delete;

    /// A handle of that kind for `object`; 0 where the table is full.
    /// Requires `object` not null and `kind` not none.
    HandleBits acquire(Kind kind, void* object) noexcept
    {
        return mode_ == 0 ? make(kind, object) : make_guarded(kind, object);
    }

    template <typename Handle>
    Handle acquire(void* object) noexcept
    {
        return handle_from<Handle>(acquire(HandleTraits<Handle>::kind, object));
    }

    /// Frees a handle that this pool acquired. False, and no effect, where it is not live.
    bool release(Kind kind, HandleBits bits) noexcept;

    template <typename Handle>
    bool release(Handle handle) noexcept
    {
        return release(HandleTraits<Handle>::kind, bits_of(handle));
    }

    /// release() of each.
    void release_all(Kind kind, std::span<const HandleBits> all) noexcept;

    /// Lets a live handle of kind `from` stand for `object`, of kind `to`. False, and no effect,
    /// where it is not live. Nobody else is kept out: it is for the thread that may use the handle.
    /// Requires `object` not null and `to` not none.
    bool change(Kind from, HandleBits bits, Kind to, void* object) noexcept
    {
        if (table_.find(from, bits) == nullptr) [[unlikely]] {
            return false;
        }
        change_live(bits, to, object);
        return true;
    }

    /// change() of a handle that is live, as the caller has just seen.
    void change_live(HandleBits bits, Kind to, void* object) noexcept
    {
        Slot& slot = table_.slots_[(bits - table_.base_) / slot_bytes];
        // relaxed: the key publishes it.
        slot.object.store(object, std::memory_order_relaxed);
        // (3) release, pairs with (1).
        slot.key.store(HandleTable::key_of(to, bits), std::memory_order_release);
    }

    /// Several threads may call from now on; the calling one pays little for it until another one
    /// does. Requires that none is in a call. No effect on a pool that is shared.
    void share() noexcept;

    /// From now on remembers where handles are made. Requires that no other thread is in a call.
    void track_origins() noexcept { mode_ |= tracked; }
    /// Live handles that were made since, oldest slot first.
    std::vector<Origin> origins() const;

    /// Handles that are acquired and not yet released (leak reports).
    std::size_t live_count() const noexcept { return live_count_; }

  private:
    // Bits of mode_: one test tells the usual pool from all others.
    static constexpr unsigned shared = 1;
    static constexpr unsigned tracked = 2;

    /// Keeps other threads out while it lives, if there are any.
    class Guard {
      public:
        explicit Guard(HandlePool& pool) noexcept : pool_(pool)
        {
            if ((pool.mode_ & shared) != 0 && !pool.lock_.try_lock()) [[unlikely]] {
                pool.wait_for_turn();
            }
        }
        ~Guard()
        {
            if ((pool_.mode_ & shared) != 0) {
                pool_.lock_.unlock();
            }
        }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

      private:
        HandlePool& pool_;
    };

    [[gnu::noinline]] void wait_for_turn() noexcept;
    HandleBits make(Kind kind, void* object) noexcept;
    HandleBits make_guarded(Kind kind, void* object) noexcept;
    bool take_back(Kind kind, HandleBits bits) noexcept;
    [[gnu::cold]] void note_origin(HandleBits bits) noexcept;
    std::uint32_t take_slot() noexcept;
    std::uint32_t take_oldest_freed() noexcept;

    HandleTable& table_;
    sync::BiasedLock lock_;
    unsigned mode_;
    std::uint32_t quarantine_;
    std::map<std::uint32_t, platform::Frames> made_by_;  ///< by slot; empty unless tracked
    /// Queue of freed slots, oldest first, linked by Slot::next_freed.
    std::uint32_t oldest_freed_ = 0;
    std::uint32_t newest_freed_ = 0;
    std::uint32_t freed_count_ = 0;
    /// Slots of the current block that were never used: [fresh_, fresh_end_).
    std::uint32_t fresh_ = 0;
    std::uint32_t fresh_end_ = 0;
    std::size_t live_count_ = 0;
};

}  // namespace headway::object
