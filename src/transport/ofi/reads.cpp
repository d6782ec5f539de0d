// SPDX-License-Identifier: Apache-2.0
//
// Reads of other ranks' memory. What a message is read from, and where the provider wants that what
// it is read into, is registered: by the cache, which may have it still.
#include <mutex>
#include <new>

#include "transport/ofi/ofi_network.hpp"
#include "transport/ofi/ofi_port.hpp"

namespace headway::transport::ofi {

namespace {

/// Reads of a port under way at a time; more wait with the engine.
constexpr std::uint32_t reads_max = 32;

/// Memory that others may read.
struct Exposed {
    Registration* memory = nullptr;
    std::size_t bytes = 0;
};

}  // namespace

void* OfiPort::expose(const void* address, std::size_t bytes, Exposure* exposure) noexcept
{
    auto* const exposed = new (std::nothrow) Exposed{.bytes = bytes};
    if (exposed == nullptr) {
        return nullptr;
    }
    const std::lock_guard guard(network_.lock_);
    exposed->memory = network_.regions_->acquire(address, bytes, FI_REMOTE_READ);
    if (exposed->memory == nullptr) {
        delete exposed;
        return nullptr;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    exposure->address =
        network_.fabric_.has_mode(FI_MR_VIRT_ADDR) ? begin : begin - exposed->memory->range.begin;
    exposure->key = region_of(*exposed->memory).key();
    bytes_under_way_.fetch_add(bytes, std::memory_order_relaxed);  // a hint
    return exposed;
}

void OfiPort::conceal(void* exposed) noexcept
{
    if (exposed != nullptr) {
        const std::lock_guard guard(network_.lock_);
        auto* const ended = static_cast<Exposed*>(exposed);
        bytes_under_way_.fetch_sub(ended->bytes, std::memory_order_relaxed);  // a hint
        network_.regions_->release(ended->memory);
        delete ended;
    }
}

bool OfiPort::prepare_target(void* address, std::size_t bytes, void** target) noexcept
{
    *target = nullptr;
    if (!network_.fabric_.has_mode(FI_MR_LOCAL)) {
        return true;
    }
    const std::lock_guard guard(network_.lock_);
    *target = network_.regions_->acquire(address, bytes, FI_READ);
    return *target != nullptr;
}

void OfiPort::release_target(void* target) noexcept
{
    if (target != nullptr) {
        const std::lock_guard guard(network_.lock_);
        network_.regions_->release(static_cast<Registration*>(target));
    }
}

base::Status OfiPort::read(std::uint32_t rank, const Exposure& exposure, std::uint64_t offset,
                           void* address, std::size_t bytes, void* target,
                           std::uint64_t cookie) noexcept
{
    const std::lock_guard guard(network_.lock_);
    if (!network_.failure_.empty()) [[unlikely]] {
        return base::Status::failed;
    }
    Peer& peer = *introduced_peer_of(rank);  // it has sent an offer
    if (reads_under_way_ == reads_max) {
        return refuse(base::Status::retry_lane_full);
    }
    TransferSlot& slot =
        next_transfer({.kind = Target::Kind::read, .rank = rank, .bytes = bytes, .cookie = cookie});
    void* const descriptor =
        target != nullptr ? region_of(*static_cast<Registration*>(target)).descriptor() : nullptr;
    const long code =
        fi_read(network_.fabric_.reads_by(), address, bytes, descriptor, peer.destination->address,
                exposure.address + offset, exposure.key, &slot.context);
    if (code == -FI_EAGAIN) {
        note(peer.are_reads_unconnected, true);
        return refuse(base::Status::retry_not_connected);
    }
    if (code != 0) {
        network_.fail("memory of " + peer.destination->name + " cannot be read over " +
                      network_.description_ + " (" + fi_strerror(static_cast<int>(-code)) +
                      "); is it alive, and its network up?");
        return base::Status::failed;
    }
    note(peer.are_reads_unconnected, false);
    begin_transfer(slot);
    return base::Status::done;
}

}  // namespace headway::transport::ofi
