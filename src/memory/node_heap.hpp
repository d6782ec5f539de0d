// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "memory/allocator.hpp"
#include "platform/futex.hpp"
#include "platform/mapping.hpp"

namespace headway::memory {

enum class HeapKind : std::uint8_t {
    memfd,  ///< anonymous; others open /proc/<pid>/fd of the creator, or get its descriptor
    shm,    ///< a file in /dev/shm, which may be small or full: memory is reserved before use
};

struct HeapOptions {
    std::uint64_t size_bytes = std::uint64_t{16} << 30;  ///< of addresses; memory grows with use
    HeapKind kind = HeapKind::memfd;
    std::uint32_t rank_count = 1;  ///< ranks of the node
    unsigned candidate = 0;        ///< index of the address, from candidate_mask() of all processes
    std::string_view version;      ///< of the library; attach() refuses another one
    std::string_view name;         ///< unique on the machine (job and node), used for the file
    std::string_view family;       ///< how the names of all heaps begin; see create_shm()
};

struct HeapStatistics {
    std::uint64_t slab_bytes_in_use;    ///< blocks up to 32 KiB, all ranks
    std::uint64_t bytes_reserved;       ///< 64 KiB units taken by slabs and large blocks
    std::uint64_t bytes_reserved_high;  ///< the most there ever was
};

/// The memory that all processes of a node map at one address, home of all progress state.
///
/// How a node comes up: every process publishes candidate_mask(); the lowest address common to all
/// is taken; one process creates, fills in what all need, and calls announce_ready(); it publishes
/// path(); the others attach() and wait_ready(); when all have, the creator calls unlink_name().
/// The object is private to its process; the region lives as long as somebody maps it.
///
/// Thread rule: creation by one thread; afterwards const functions and for_rank() by any.
class NodeHeap {
  public:
    static constexpr unsigned candidate_count = 8;
    static constexpr unsigned root_count = 8;

    /// Address number `candidate`. Zero beyond the list.
    static std::uintptr_t candidate_address(unsigned candidate) noexcept;

    /// Bit i: `size_bytes` can be mapped at address i in this process now.
    static std::uint32_t candidate_mask(std::uint64_t size_bytes) noexcept;

    /// Failures: address taken, size refused, no memory file, /dev/shm too small for the start.
    static base::Result<std::unique_ptr<NodeHeap>> create(const HeapOptions& options);

    /// Maps a heap made by another process. Failures: as create(), and a file that cannot be
    /// opened, is no heap, or is of another version.
    static base::Result<std::unique_ptr<NodeHeap>> attach(const std::string& path,
                                                          std::uintptr_t address,
                                                          std::string_view version);

    NodeHeap(const NodeHeap&) = delete;
    NodeHeap& operator=(const NodeHeap&) = delete;

    /// The same for one that came as an open descriptor, which the heap owns from now on.
    static base::Result<std::unique_ptr<NodeHeap>> attach_descriptor(int fd, std::uintptr_t address,
                                                                     std::string_view version);

    /// What the others give to attach().
    const std::string& path() const noexcept { return file_.path(); }
    HeapKind kind() const noexcept;
    /// Its file: what another process gives to attach_descriptor(), once it has a duplicate.
    int fd() const noexcept { return file_.fd(); }
    /// Whether attach() of other processes can be expected to work.
    bool can_be_opened_by_path() const noexcept { return file_.can_be_opened_by_path(); }
    /// After all have attached: nothing stays in /dev/shm, whoever dies. Idempotent.
    void unlink_name() noexcept { file_.unlink_name(); }

    void announce_ready() noexcept;
    /// False: not announced by `deadline`; the creator has probably died.
    [[nodiscard]] bool wait_ready(platform::Deadline deadline) const noexcept;

    std::uint32_t rank_count() const noexcept
    {
        return static_cast<std::uint32_t>(allocators_.size());
    }
    /// Requires rank < rank_count(). See Allocator for the thread rule.
    Allocator& for_rank(std::uint32_t rank) noexcept { return allocators_[rank]; }
    /// For threads that act for no rank: it only frees. Thread rule: any.
    Allocator& for_stranger() noexcept { return *stranger_; }

    /// Places where parts of the library leave addresses in the heap for the other processes; null
    /// at first. Written before announce_ready().
    void set_root(unsigned index, void* address) noexcept;
    void* root(unsigned index) const noexcept;

    std::uintptr_t address() const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(mapping_.base());
    }
    std::uint64_t size_bytes() const noexcept { return mapping_.size_bytes(); }
    bool contains(const void* place) const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(place) - address() < size_bytes();
    }

    HeapStatistics statistics() const noexcept;
    /// Rank inside the lock of large blocks and new slabs, or -1: asked when a rank has died.
    std::int32_t lock_holder() const noexcept;
    /// The lower half of the allocator, for tests and reports.
    PageRuns& runs() noexcept;

  private:
    struct Header;

    static base::Result<std::unique_ptr<NodeHeap>> attach_file(platform::SharedFile file,
                                                               std::uintptr_t address,
                                                               std::string_view version);

    NodeHeap(platform::SharedFile file, platform::Mapping mapping) noexcept;
    Header* header() const noexcept;
    void make_allocators();

    platform::SharedFile file_;
    platform::Mapping mapping_;
    std::vector<Allocator> allocators_;  ///< by rank
    std::unique_ptr<Allocator> stranger_;
};

}  // namespace headway::memory
