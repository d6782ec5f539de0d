// SPDX-License-Identifier: Apache-2.0
//
// Registered memory that is kept while nobody uses it, since most programs send from and receive
// into the same memory again. What is kept is forgotten when the memory changes (MemoryWatch);
// where nobody tells of that, only what lies in memory that lasts is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "platform/memory_watch.hpp"
#include "transport/network.hpp"

namespace headway::transport::ofi {

/// Makes memory known to somebody who finds its pages once, and takes it back.
class Registrar {
  public:
    /// Null: refused. The cache gives room and asks once more.
    virtual void* open(const void* address, std::size_t bytes, std::uint64_t access) noexcept = 0;
    virtual void close(void* memory) noexcept = 0;

  protected:
    ~Registrar() = default;
};

/// Memory that is registered.
struct Registration {
    platform::MemoryRange range;
    std::uint64_t access = 0;
    void* memory = nullptr;  ///< what the registrar gave
    std::uint32_t uses = 0;
    bool is_kept = false;  ///< in the cache, so that others may find it
};

/// Thread rule: one thread at a time.
class RegistrationCache {
  public:
    struct Limits {
        std::uint64_t entries = 0;  ///< 0: nothing is kept
        std::uint64_t bytes = 0;
    };

    /// Null `watch`: nobody tells of changes. Both outlive the cache.
    RegistrationCache(Registrar& registrar, platform::MemoryWatch* watch, const Limits& limits);
    /// Requires: all that was acquired is released.
    ~RegistrationCache();
    RegistrationCache(const RegistrationCache&) = delete;
    RegistrationCache& operator=(const RegistrationCache&) = delete;

    /// Memory that does not change as long as any is acquired. Before the first acquire().
    void declare_lasting(const platform::MemoryRange& range) noexcept { lasting_ = range; }

    /// Registered memory that covers [address, address + bytes) and serves for exactly `access`,
    /// the caller's until release(). The memory stays mapped so long. Null: the registrar refuses,
    /// or there is no memory to note it.
    Registration* acquire(const void* address, std::size_t bytes, std::uint64_t access) noexcept;
    void release(Registration* registration) noexcept;

    /// Closes what is kept of memory that is known to have changed: so much less is held for
    /// nobody. Costs nothing where nothing has.
    void forget_changed() noexcept;

    const RegionCounts& counts() const noexcept { return counts_; }

  private:
    using Place = std::vector<std::unique_ptr<Registration>>::iterator;

    bool is_unchanged(const platform::MemoryRange& range) noexcept;
    bool can_keep(const platform::MemoryRange& range) noexcept;
    void forget(const platform::MemoryRange& changed) noexcept;
    Registration* find(const platform::MemoryRange& range, std::uint64_t access) noexcept;
    bool make_room(std::uint64_t bytes) noexcept;
    bool drop_unused() noexcept;
    void drop_covered(const Registration& by) noexcept;
    Place drop(Place place) noexcept;
    void* register_memory(const Registration& wanted) noexcept;

    Registrar& registrar_;
    platform::MemoryWatch* const watch_;
    const Limits limits_;
    platform::MemoryRange lasting_;
    /// The one used last is the last. Has room for all that the limits allow.
    std::vector<std::unique_ptr<Registration>> kept_;
    std::uint64_t kept_bytes_ = 0;
    RegionCounts counts_;
};

}  // namespace headway::transport::ofi
