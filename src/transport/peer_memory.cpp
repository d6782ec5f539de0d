// SPDX-License-Identifier: Apache-2.0
#include "transport/peer_memory.hpp"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "platform/cpu.hpp"

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
      token_(std::make_unique<std::uint64_t>()),
      own_process_(own_process),
      cma_allowed_(cma_allowed)
{
    if (::getrandom(token_.get(), sizeof *token_, GRND_NONBLOCK) != sizeof *token_) {
        // Too early in the life of the machine: time and address tell processes apart as well.
        *token_ = static_cast<std::uint64_t>(platform::monotonic_ns()) ^
                  reinterpret_cast<std::uintptr_t>(token_.get());
    }
}

PeerMemory::~PeerMemory() = default;

void PeerMemory::introduce(std::uint32_t process, const Identity& identity) noexcept
{
    peers_[process].identity = identity;
}

PeerMemory::Identity PeerMemory::own_identity() const noexcept
{
    return {::getpid(), token_.get(), *token_};
}

void PeerMemory::allow_peers() noexcept
{
    // Without Yama this call is refused, which is as good.
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
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
    const CopyOutcome outcome = move(direction, peer.identity.pid, here, there, size_bytes);
    if (outcome == CopyOutcome::unreachable) {
        peer.access.store(Peer::Access::refused, std::memory_order_relaxed);
    }
    return outcome;
}

CopyOutcome PeerMemory::recognise(Peer& peer) noexcept
{
    std::uint64_t found = 0;
    const CopyOutcome outcome =
        move(Direction::read, peer.identity.pid, &found,
             const_cast<std::uint64_t*>(peer.identity.token_address), sizeof found);
    if (outcome == CopyOutcome::done && found == peer.identity.token) {
        return CopyOutcome::done;
    }
    return CopyOutcome::unreachable;
}

CopyOutcome PeerMemory::move(Direction direction, pid_t pid, void* here, void* there,
                             std::size_t size_bytes) noexcept
{
    std::size_t moved = 0;
    while (moved < size_bytes) {
        const iovec local{static_cast<std::byte*>(here) + moved, size_bytes - moved};
        const iovec remote{static_cast<std::byte*>(there) + moved, size_bytes - moved};
        const ssize_t rc = direction == Direction::read
                               ? ::process_vm_readv(pid, &local, 1, &remote, 1, 0)
                               : ::process_vm_writev(pid, &local, 1, &remote, 1, 0);
        if (rc > 0) {
            moved += static_cast<std::size_t>(rc);
            continue;
        }
        if (rc < 0 && errno == EINTR) {
            continue;
        }
        if (rc == 0 || errno == EFAULT) {
            return CopyOutcome::bad_address;
        }
        // EPERM, ENOSYS, ESRCH (another pid namespace) and whatever a filter invents.
        return CopyOutcome::unreachable;
    }
    return CopyOutcome::done;
}

}  // namespace headway::transport
