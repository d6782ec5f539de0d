// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "memory/page_runs.hpp"
#include "memory/size_class.hpp"
#include "platform/cpu.hpp"
#include "sync/mpsc_list.hpp"

namespace headway::memory {

/// A rank's part of the heap's metadata; lies in the region.
struct alignas(platform::cache_line_bytes) RankHeap {
    // Written by whoever acts for the rank: first slab with room, by size class (0: none).
    std::uint32_t slabs_with_room[size_class_count];
    // Written by whoever acts for the rank, read by anyone for statistics.
    std::atomic<std::uint64_t> slab_bytes_in_use;
    // Blocks of this rank freed by others: on a line of its own, since they write it.
    alignas(platform::cache_line_bytes) sync::MpscList inbound;
};

/// Allocates from the node heap for one rank. Blocks are aligned to 64 bytes, valid at the same
/// address in all processes of the node, and not cleared.
///
/// Thread rule: one thread at a time for each rank: the rank itself while it owns its ownership
/// word, or the helper that holds it. Where several threads share a rank, the caller locks. free()
/// takes blocks of any rank: those of others travel back by the owner's inbound list.
class Allocator {
  public:
    Allocator(RankHeap* ranks, std::uint32_t rank, PageRuns* runs, CommitRule rule) noexcept
        : ranks_(ranks), mine_(ranks + rank), runs_(runs), rule_(rule), rank_(rank)
    {
    }

    /// Rank number of a thread that acts for no rank: its allocator only frees.
    static constexpr std::uint32_t no_rank = UINT32_MAX >> 8;
    /// An allocator for such a thread. Thread rule: any thread.
    static Allocator for_stranger(RankHeap* ranks, PageRuns* runs, CommitRule rule) noexcept
    {
        return Allocator(ranks, runs, rule);
    }

    /// Null: the node heap is exhausted for now (retry_no_memory). Cheap up to 32 KiB; larger
    /// blocks take the lock of the node and a whole number of 64 KiB units.
    [[nodiscard]] void* allocate(std::size_t size_bytes) noexcept;

    /// The same, all its bytes 0. What nobody has used before is not touched here, so that of a
    /// large block only those pages cost memory that its owner comes to use.
    [[nodiscard]] void* allocate_zeroed(std::size_t size_bytes) noexcept;

    /// Null is allowed. Requires: from allocate() of any rank of this heap, not freed since.
    void free(void* block) noexcept;

    /// Takes in what others have freed. allocate() does it when a size class runs short; call it
    /// at other quiet moments only to give memory to other ranks.
    void take_inbound() noexcept;

    /// Bytes that can be used in a block (its size class).
    std::size_t usable_bytes(const void* block) const noexcept;

    /// A constructed object, or null. Objects live in memory shared by processes: plain data only.
    template <typename T, typename... Arguments>
    [[nodiscard]] T* make(Arguments&&... arguments) noexcept
    {
        static_assert(std::is_trivially_destructible_v<T> && !std::is_polymorphic_v<T>);
        static_assert(alignof(T) <= block_granule_bytes);
        void* const block = allocate(sizeof(T));
        return block == nullptr ? nullptr : ::new (block) T(std::forward<Arguments>(arguments)...);
    }

    std::uint32_t rank() const noexcept { return rank_; }
    /// Bytes in blocks up to 32 KiB of this rank, by size class; freed by others counts as in use
    /// until taken in.
    std::uint64_t slab_bytes_in_use() const noexcept
    {
        return mine_->slab_bytes_in_use.load(std::memory_order_relaxed);
    }

  private:
    Allocator(RankHeap* ranks, PageRuns* runs, CommitRule rule) noexcept
        : ranks_(ranks), mine_(nullptr), runs_(runs), rule_(rule), rank_(no_rank)
    {
    }

    struct Block {
        void* place;
        bool is_new;  ///< nobody has had it before
    };

    Block take(std::size_t size_bytes) noexcept;
    Block take_large(std::size_t size_bytes) noexcept;
    std::uint32_t slab_with_room(std::uint32_t size_class) noexcept;
    std::uint32_t open_slab(std::uint32_t size_class) noexcept;
    void free_in_slab(std::uint32_t head, void* block) noexcept;
    void link_slab(std::uint32_t head) noexcept;
    void unlink_slab(std::uint32_t head) noexcept;
    void count_bytes(std::uint64_t change) noexcept;

    RankHeap* ranks_;
    RankHeap* mine_;
    PageRuns* runs_;
    CommitRule rule_;
    std::uint32_t rank_;
};

}  // namespace headway::memory
