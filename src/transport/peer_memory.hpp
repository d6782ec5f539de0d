// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "platform/peer_copy.hpp"

namespace headway::transport {

using platform::CopyOutcome;

/// Bytes of this node: an address and the process in which it holds.
struct Place {
    /// The address holds in all processes: it lies in the node heap.
    static constexpr std::uint32_t everywhere = UINT32_MAX;

    std::byte* address = nullptr;
    std::uint32_t process = 0;
};

/// Reach into the memory of the processes of this node: the best way that holds for each pair,
/// tried at run time on the real peer and never fatal.
///   same process   plain copy
///   CMA            process_vm_readv / writev: one copy by whoever calls
///   unreachable    the caller falls back to a pipelined copy through the node heap
///
/// Process-private. Thread rule: any thread; two threads that learn the same fact about a peer
/// store the same value.
class PeerMemory {
  public:
    /// `cma_allowed` false answers `unreachable` for all other processes (a knob and tests).
    PeerMemory(std::uint32_t process_count, std::uint32_t own_process, bool cma_allowed);
    ~PeerMemory();
    PeerMemory(const PeerMemory&) = delete;
    PeerMemory& operator=(const PeerMemory&) = delete;

    /// How to reach a process, and how to know it: the same pid may be another process in another
    /// pid namespace, so the first copy reads `token` at `token_address` there and compares.
    struct Identity {
        std::int32_t process_id = 0;
        const std::uint64_t* token_address = nullptr;
        std::uint64_t token = 0;
    };
    /// Before the first copy from or to `process`.
    void introduce(std::uint32_t process, const Identity& identity) noexcept;
    /// What this process tells the others.
    Identity own_identity() const noexcept;

    /// Whether bytes of `process` can be copied from here. The first question about a process tries
    /// it on the real peer.
    bool can_reach(std::uint32_t process) noexcept;

    /// Copies size_bytes from `source` to `target`, wherever they are: one copy where either of
    /// them is here, two where neither is. Where they overlap, both must be here.
    CopyOutcome copy(Place target, Place source, std::size_t size_bytes) noexcept;

    /// Copies size_bytes from `source` of `process` to `target` here.
    CopyOutcome read(std::uint32_t process, const void* source, void* target,
                     std::size_t size_bytes) noexcept;
    /// Copies size_bytes from `source` here to `target` of `process`.
    CopyOutcome write(std::uint32_t process, const void* source, void* target,
                      std::size_t size_bytes) noexcept;

    /// The same from consecutive bytes of `process` to runs here, and back.
    CopyOutcome read(std::uint32_t process, const void* source,
                     std::span<const std::span<std::byte>> target) noexcept;
    CopyOutcome write(std::uint32_t process, std::span<const std::span<std::byte>> source,
                      void* target) noexcept;

  private:
    struct Peer;
    bool is_here(std::uint32_t process) const noexcept
    {
        return process == own_process_ || process == Place::everywhere;
    }
    CopyOutcome carry(Place target, Place source, std::size_t size_bytes) noexcept;
    /// What `move` says of the process of this id, which is remembered.
    template <typename Move>
    CopyOutcome transfer(std::uint32_t process, Move&& move) noexcept;
    static CopyOutcome recognise(Peer& peer) noexcept;

    std::unique_ptr<Peer[]> peers_;
    std::unique_ptr<std::uint64_t> token_;  ///< written once here, read by the other processes
    std::uint32_t own_process_;
    bool cma_allowed_;
};

}  // namespace headway::transport
