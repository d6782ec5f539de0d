// SPDX-License-Identifier: Apache-2.0
#include "transport/peer_memory.hpp"

#include <atomic>
#include <cstring>

#include "platform/process.hpp"

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

CopyOutcome PeerMemory::read(std::uint32_t process, const void* source, void* target,
                             std::size_t size_bytes) noexcept
{
    if (process == own_process_) {
        std::memcpy(target, source, size_bytes);
        return CopyOutcome::done;
    }
    return transfer(Direction::read, process, target, const_cast<void*>(source), size_bytes);
}

CopyOutcome PeerMemory::write(std::uint32_t process, const void* source, void* target,
                              std::size_t size_bytes) noexcept
{
    if (process == own_process_) {
        std::memcpy(target, source, size_bytes);
        return CopyOutcome::done;
    }
    return transfer(Direction::write, process, const_cast<void*>(source), target, size_bytes);
}

CopyOutcome PeerMemory::transfer(Direction direction, std::uint32_t process, void* here,
                                 void* there, std::size_t size_bytes) noexcept
{
    Peer& peer = peers_[process];
    const Peer::Access access = peer.access.load(std::memory_order_relaxed);
    if (!cma_allowed_ || access == Peer::Access::refused) {
        return CopyOutcome::unreachable;
    }
    if (access == Peer::Access::unknown) [[unlikely]] {
        if (recognise(peer) != CopyOutcome::done) {
            peer.access.store(Peer::Access::refused, std::memory_order_relaxed);
            return CopyOutcome::unreachable;
        }
        peer.access.store(Peer::Access::granted, std::memory_order_relaxed);
    }
    const std::int32_t id = peer.identity.process_id;
    const CopyOutcome outcome = direction == Direction::read
                                    ? platform::read_process(id, there, here, size_bytes)
                                    : platform::write_process(id, here, there, size_bytes);
    if (outcome == CopyOutcome::unreachable) {
        peer.access.store(Peer::Access::refused, std::memory_order_relaxed);
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
