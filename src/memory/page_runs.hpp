// SPDX-License-Identifier: Apache-2.0
//
// The lower half of the node heap's allocator: runs of 64 KiB units, for slabs and for large
// blocks. Metadata lies in one table, an entry a unit, so blocks are bare and exactly aligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sync/holder_lock.hpp"

namespace headway::memory {

inline constexpr std::uint64_t unit_bytes = 64 * 1024;
inline constexpr unsigned unit_shift = 16;

enum class UnitKind : std::uint8_t {
    untouched = 0,  ///< never used, or given back at the frontier
    free_run,       ///< first unit of a free run
    free_tail,      ///< last unit of a free run of at least two; `head` names the first
    slab,           ///< belongs to `owner`; `head` names the first unit of the slab
    large,          ///< first unit of a block of its own
};

/// One entry of the unit table. The lock's holder writes entries of free runs, and kind, head,
/// run_units and owner at allocation; the owner of a slab writes the rest of its first entry. Who
/// frees a block reads kind, head and owner, which do not change while the block is in use.
struct UnitInfo {
    void* free_list;         ///< slab: freed blocks, linked by their first word
    std::uint32_t fresh;     ///< slab: blocks handed out at least once
    std::uint32_t used;      ///< slab: blocks in use (or in the inbound list)
    std::uint32_t previous;  ///< neighbour in the list this is in, 0 none
    std::uint32_t next;
    std::uint32_t head;       ///< first unit of the run
    std::uint32_t run_units;  ///< on the first unit
    std::uint32_t owner;      ///< slab: rank; large: rank that allocated it (for reports)
    std::uint8_t size_class;  ///< slab
    UnitKind kind;
    bool is_new;  ///< on the first unit: nobody has had the run before, so all its bytes are 0
    std::uint8_t reserved[21];
};
static_assert(sizeof(UnitInfo) == 64);

/// What a process needs to give memory to the region before it is touched; private to the process.
struct CommitRule {
    int fd;            ///< the region's file
    bool must_commit;  ///< a file system that can be full lies behind it
};

/// Lies in the region. Thread rule: any rank of any process; who is a rank index and must be true,
/// as it tells survivors who died holding the lock.
class PageRuns {
  public:
    /// `base` is the region's start, `table` its unit table (both in the region); units before
    /// `first_unit` hold the metadata. Requires: zeroed memory, before anyone else knows it.
    void open(std::byte* base, UnitInfo* table, std::uint32_t first_unit,
              std::uint32_t unit_count) noexcept;

    /// First unit of a new run, its entries set (kind, head, run_units, owner, is_new); 0: no
    /// memory now, or the lock was not to be had in time.
    std::uint32_t allocate(std::uint32_t units, UnitKind kind, std::uint32_t who,
                           const CommitRule& rule) noexcept;

    /// Takes a run back; neighbours melt together. False: the lock was not to be had in time, and
    /// the run stays allocated.
    bool free(std::uint32_t first, std::uint32_t who) noexcept;

    UnitInfo& info(std::uint32_t unit) noexcept { return table_[unit]; }
    std::byte* address_of(std::uint32_t unit) noexcept
    {
        return base_ + (std::uint64_t{unit} << unit_shift);
    }
    std::uint32_t unit_of(const void* block) const noexcept
    {
        return static_cast<std::uint32_t>(
            static_cast<std::uint64_t>(static_cast<const std::byte*>(block) - base_) >> unit_shift);
    }

    /// Rank in the critical section, or -1.
    std::int32_t lock_holder() const noexcept { return lock_.holder(); }
    std::uint64_t bytes_in_use() const noexcept;
    std::uint64_t bytes_in_use_high() const noexcept;

    /// For tests of a death inside the critical section.
    sync::HolderLock& lock() noexcept { return lock_; }

  private:
    static constexpr std::uint32_t bin_count = 32;

    std::uint32_t take_free_run(std::uint32_t units) noexcept;
    std::uint32_t extend(std::uint32_t units, const CommitRule& rule) noexcept;
    bool commit_up_to(std::uint32_t unit, const CommitRule& rule) noexcept;
    void link_free_run(std::uint32_t first, std::uint32_t units) noexcept;
    void unlink_free_run(std::uint32_t first) noexcept;
    void count_use(std::int64_t units) noexcept;

    // Written by open() only.
    std::byte* base_;
    UnitInfo* table_;
    std::uint32_t first_unit_;
    std::uint32_t unit_count_;
    // Everything below is written by the holder of lock_; the counts are read by anyone.
    sync::HolderLock lock_;
    std::uint32_t frontier_;   ///< units from here on are untouched, or were given back
    std::uint32_t reached_;    ///< the highest that it was: units from here on have never been used
    std::uint32_t committed_;  ///< units below have memory behind them (if that is needed)
    std::uint32_t bins_[bin_count];
    std::atomic<std::uint64_t> units_in_use_;
    std::atomic<std::uint64_t> units_in_use_high_;
};

}  // namespace headway::memory
