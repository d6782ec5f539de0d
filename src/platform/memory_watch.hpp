// SPDX-License-Identifier: Apache-2.0
//
// Notices that memory of this process is unmapped, moved, or emptied (munmap, mmap over it, mremap,
// brk, madvise), by the system's userfaultfd: a call that changes watched memory does not return
// before a thread of the watch has read what it did. That thread takes no lock and allocates
// nothing, so whoever changes memory may hold any lock, that of malloc included.
//
// No page is ever protected, so watched memory is as fast as any other; only the calls named above
// take longer in it. Whole mappings are watched, since a mapping that were watched in part would be
// two, and mremap() works in one.
//
// Not noticed: memory with an object behind it (it is not watched), System V memory that is
// attached over a mapping (SHM_REMAP), and pages that MADV_GUARD_INSTALL has emptied.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "platform/memory_map.hpp"
#include "platform/thread.hpp"

namespace headway::platform {

/// Thread rule: one thread at a time, but for what is marked as the listener's.
class MemoryWatch {
  public:
    /// Changes that wait to be taken; beyond that, one change stands for all memory.
    static constexpr std::uint32_t changes_max = 256;

    /// Failure: the system does not tell, and why. `may_ask`: see MemoryMap::open().
    static base::Result<std::unique_ptr<MemoryWatch>> open(bool may_ask = true);
    ~MemoryWatch();
    MemoryWatch(const MemoryWatch&) = delete;
    MemoryWatch& operator=(const MemoryWatch&) = delete;

    /// From now on changes of `range` are noticed, as long as it is mapped; other changes may be,
    /// too. False: not this memory.
    bool watch(const MemoryRange& range) noexcept;

    /// Whether all changes of watched memory that have begun by now can be taken. A call that makes
    /// one, and whoever maps something at the same address after it, need not have returned: so
    /// where this is true, and take_change() then has been called until it is false, who saw no
    /// change of a range knows that there was none.
    bool is_settled() noexcept;

    /// The oldest change that was not taken, or false.
    bool take_change(MemoryRange& changed) noexcept;

  private:
    MemoryWatch() noexcept = default;

    base::Outcome prepare(bool may_ask);
    void listen() noexcept;
    bool read_events() noexcept;
    void note(const MemoryRange& changed) noexcept;

    MemoryMap map_;
    int descriptor_ = -1;  ///< closed by the listener
    int stop_ = -1;        ///< written to when the listener is to end
    void* probe_ = nullptr;
    Thread listener_;

    /// 1 while the listener may have read changes that it has not written down. Written by the
    /// listener, read by who takes changes.
    std::atomic<std::uint32_t> is_reading_{0};
    /// Changes written down and taken, since the start. The first is written by the listener, the
    /// second by who takes them; both read both.
    std::atomic<std::uint32_t> written_{0};
    std::atomic<std::uint32_t> taken_{0};
    /// Some found no room. Set by the listener, cleared by who takes.
    std::atomic<bool> has_lost_{false};
    std::array<MemoryRange, changes_max> changes_{};
};

}  // namespace headway::platform
