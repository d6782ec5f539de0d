// SPDX-License-Identifier: Apache-2.0
//
// What reads and pushes have in common: bytes of long messages on their way without frames, and who
// is told when they are there.
#include <memory>
#include <mutex>

#include "transport/ofi/ofi_network.hpp"
#include "transport/ofi/ofi_port.hpp"

namespace headway::transport::ofi {

/// What begin_transfer() takes, if the provider does; else the next one has it.
TransferSlot& OfiPort::next_transfer(const TransferName& name)
{
    if (transfers_free_.empty()) {
        transfers_.push_back(std::make_unique<TransferSlot>());
        transfers_.back()->port = this;
        transfers_free_.push_back(transfers_.back().get());
    }
    TransferSlot& slot = *transfers_free_.back();
    slot.kind = name.kind;
    slot.rank = name.rank;
    slot.bytes = name.bytes;
    slot.cookie = name.cookie;
    slot.number = name.number;
    return slot;
}

/// Requires: `slot` is the newest of next_transfer().
void OfiPort::begin_transfer(TransferSlot& slot) noexcept
{
    transfers_free_.pop_back();
    reads_under_way_ += slot.kind == Target::Kind::read ? 1 : 0;
    pushes_under_way_ += slot.kind == Target::Kind::push ? 1 : 0;
    bytes_under_way_.fetch_add(slot.bytes, std::memory_order_relaxed);  // a hint
}

void OfiPort::end_transfer(TransferSlot& slot) noexcept
{
    bytes_under_way_.fetch_sub(slot.bytes, std::memory_order_relaxed);  // a hint
    reads_under_way_ -= slot.kind == Target::Kind::read ? 1 : 0;
    pushes_under_way_ -= slot.kind == Target::Kind::push ? 1 : 0;
    transfers_free_.push_back(&slot);
    Peer& peer = peer_of(slot.rank);
    if (slot.kind == Target::Kind::drain) {
        Waiting& what = peer.waiting.find(slot.number)->second;
        what.is_here = true;
        if (what.is_wanted) {
            hand_out(peer, slot.number);
        }
        return;
    }
    const bool is_take = slot.kind == Target::Kind::take;
    transfers_ended_.push_back(
        {.cookie = slot.cookie, .pusher = is_take ? &peer : nullptr, .bytes = slot.bytes});
}

bool OfiPort::poll_transfer(std::uint64_t& cookie) noexcept
{
    const std::lock_guard guard(network_.lock_);
    if (transfers_ended_.empty()) {
        return false;
    }
    const Ended ended = transfers_ended_.back();
    transfers_ended_.pop_back();
    cookie = ended.cookie;
    if (ended.pusher != nullptr) {
        Peer& peer = *ended.pusher;
        (void)introduced_peer_of(peer.rank);
        peer.pushes_taken += ended.bytes;
        // Whoever pushes can go on before he has to stop.
        if (peer.pushes_taken - peer.pushes_told >= network_.push_bytes_max_ / 2) {
            owe(peer);
        }
    }
    return true;
}

}  // namespace headway::transport::ofi
