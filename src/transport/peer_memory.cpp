// SPDX-License-Identifier: Apache-2.0
#include "transport/peer_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "platform/memory_copy.hpp"
#include "platform/process.hpp"
#include "platform/scheduler.hpp"

namespace headway::transport {

struct PeerMemory::Peer {
    enum class Access : std::uint8_t { unknown, granted, refused };

    Identity identity;
    // Written by any thread of this process that tried, read by all. Relaxed: two threads that try
    // at once find the same; it guards no data.
    std::atomic<Access> access{Access::unknown};
};

PeerMemory::PeerMemory(std::uint32_t process_count, std::uint32_t own_process, bool cma_allowed)
    : peers_(std::make_unique<Peer[]>(process_count)),
      token_(std::make_unique<std::uint64_t>(platform::random_token())),
      own_process_(own_process),
      cma_allowed_(cma_allowed)
{
}

PeerMemory::~PeerMemory() = default;

void PeerMemory::introduce(std::uint32_t process, const Identity& identity) noexcept
{
    peers_[process].identity = identity;
}

PeerMemory::Identity PeerMemory::own_identity() const noexcept
{
    return {platform::process_id(), token_.get(), *token_};
}

template <typename Move>
CopyOutcome PeerMemory::transfer(std::uint32_t process, Move&& move) noexcept
{
    if (!can_reach(process)) {
        return CopyOutcome::unreachable;
    }
    Peer& peer = peers_[process];
    const CopyOutcome outcome = move(peer.identity.process_id);
    if (outcome == CopyOutcome::unreachable) {
        peer.access.store(Peer::Access::refused, std::memory_order_relaxed);
    }
    return outcome;
}

CopyOutcome PeerMemory::read(std::uint32_t process, const void* source, void* target,
                             std::size_t size_bytes) noexcept
{
    if (process == own_process_) {
        platform::copy_memory(target, source, size_bytes);
        return CopyOutcome::done;
    }
    return transfer(process, [&](std::int32_t id) {
        return platform::read_process(id, source, target, size_bytes);
    });
}

CopyOutcome PeerMemory::write(std::uint32_t process, const void* source, void* target,
                              std::size_t size_bytes) noexcept
{
    if (process == own_process_) {
        platform::copy_memory(target, source, size_bytes);
        return CopyOutcome::done;
    }
    return transfer(process, [&](std::int32_t id) {
        return platform::write_process(id, source, target, size_bytes);
    });
}

CopyOutcome PeerMemory::read(std::uint32_t process, const void* source,
                             std::span<const std::span<std::byte>> target) noexcept
{
    platform::scheduling_point();
    return transfer(process,
                    [&](std::int32_t id) { return platform::read_process(id, source, target); });
}

CopyOutcome PeerMemory::write(std::uint32_t process, std::span<const std::span<std::byte>> source,
                              void* target) noexcept
{
    platform::scheduling_point();
    return transfer(process,
                    [&](std::int32_t id) { return platform::write_process(id, source, target); });
}

bool PeerMemory::can_reach(std::uint32_t process) noexcept
{
    if (is_here(process)) {
        return true;
    }
    Peer& peer = peers_[process];
    const Peer::Access access = peer.access.load(std::memory_order_relaxed);
    if (!cma_allowed_ || access == Peer::Access::refused) {
        return false;
    }
    if (access == Peer::Access::unknown) [[unlikely]] {
        const bool is_known = recognise(peer) == CopyOutcome::done;
        peer.access.store(is_known ? Peer::Access::granted : Peer::Access::refused,
                          std::memory_order_relaxed);
        return is_known;
    }
    return true;
}

CopyOutcome PeerMemory::copy(Place target, Place source, std::size_t size_bytes) noexcept
{
    platform::scheduling_point();
    if (!is_here(source.process)) {
        return is_here(target.process)
                   ? read(source.process, source.address, target.address, size_bytes)
                   : carry(target, source, size_bytes);
    }
    if (!is_here(target.process)) {
        return write(target.process, source.address, target.address, size_bytes);
    }
    if (target.address + size_bytes <= source.address ||
        source.address + size_bytes <= target.address) {
        platform::copy_memory(target.address, source.address, size_bytes);
    } else {
        std::memmove(target.address, source.address, size_bytes);
    }
    return CopyOutcome::done;
}

/// From one foreign process to another, through a buffer of ours.
CopyOutcome PeerMemory::carry(Place target, Place source, std::size_t size_bytes) noexcept
{
    constexpr std::size_t load_bytes = 16 * 1024;
    std::byte load[load_bytes];
    CopyOutcome outcome = CopyOutcome::done;
    for (std::size_t at = 0; at < size_bytes && outcome == CopyOutcome::done; at += load_bytes) {
        const std::size_t bytes = std::min(load_bytes, size_bytes - at);
        outcome = read(source.process, source.address + at, load, bytes);
        if (outcome == CopyOutcome::done) {
            outcome = write(target.process, load, target.address + at, bytes);
        }
    }
    return outcome;
}

CopyOutcome PeerMemory::recognise(Peer& peer) noexcept
{
    std::uint64_t found = 0;
    const CopyOutcome outcome = platform::read_process(
        peer.identity.process_id, peer.identity.token_address, &found, sizeof found);
    if (outcome == CopyOutcome::done && found == peer.identity.token) {
        return CopyOutcome::done;
    }
    return CopyOutcome::unreachable;
}

}  // namespace headway::transport
