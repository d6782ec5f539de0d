// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headway::platform {

/// Addresses [begin, end).
struct MemoryRange {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    bool overlaps(const MemoryRange& other) const noexcept
    {
        return begin < other.end && other.begin < end;
    }
    bool covers(const MemoryRange& other) const noexcept
    {
        return begin <= other.begin && other.end <= end;
    }
};

/// A mapping of this process.
struct MappingFacts {
    MemoryRange range;
    bool is_private = false;
    bool is_anonymous = false;  ///< of no file, nor memory that has an object of its own
};

/// What the system says of the mappings of this process. Neither allocates nor frees memory, so the
/// answer does not change by the question. Thread rule: one thread at a time.
class MemoryMap {
  public:
    MemoryMap() noexcept = default;
    ~MemoryMap();
    MemoryMap(const MemoryMap&) = delete;
    MemoryMap& operator=(const MemoryMap&) = delete;

    /// Once, before all else. `may_ask`: the system may be asked for single mappings, where it can
    /// (Linux 6.11); else the list of all is read each time. False: it says nothing.
    bool open(bool may_ask = true) noexcept;

    /// The mappings that `range` lies in, as one range without a gap, if all of them are private
    /// and anonymous. False: they are not, or the system does not say.
    bool find_private(const MemoryRange& range, MemoryRange& mappings) noexcept;

  private:
    bool ask(std::uintptr_t address, MappingFacts& facts) noexcept;
    bool read_next(MappingFacts& facts) noexcept;
    bool begin_list() noexcept;

    int file_ = -1;
    bool can_ask_ = false;
    // What has been read of the list and not been looked at.
    std::array<char, 8192> text_{};
    std::size_t at_ = 0;
    std::size_t end_ = 0;
};

}  // namespace headway::platform
