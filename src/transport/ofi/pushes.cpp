// SPDX-License-Identifier: Apache-2.0
//
// Long messages that leave before their receiver has asked for them, where all that goes from one
// endpoint to another one is one stream of bytes. They are tagged messages of libfabric, which hold
// their stream until its receiver has named the place for the first of them. The tag is a keyed
// number, so that only members of the job can send what somebody takes.
//
// A later push never comes in before an earlier one. So who takes one first takes in those before
// it that have no place yet, and keeps them; it is bounded by what the sender may have on its way.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

#include "transport/ofi/ofi_network.hpp"
#include "transport/ofi/ofi_port.hpp"

namespace headway::transport::ofi {

std::uint64_t OfiPort::tag_of(std::uint32_t sender, std::uint32_t receiver,
                              std::uint64_t number) const noexcept
{
    const std::uint64_t name[] = {std::uint64_t{sender} << 32 | receiver, number};
    return base::keyed_number(network_.judge_.secret, name, sizeof name);
}

std::uint64_t OfiPort::reserve_push(std::uint32_t rank, std::size_t bytes) noexcept
{
    // The provider keeps a message as short as that for later, out of the stream.
    if (!network_.pushes() || bytes <= network_.fabric_.info->tx_attr->inject_size) {
        return 0;
    }
    const std::lock_guard guard(network_.lock_);
    Peer* const peer = introduced_peer_of(rank);
    if (peer == nullptr || peer->destination->push_address == FI_ADDR_UNSPEC ||
        peer->pushed - peer->pushes_acknowledged + bytes > network_.push_bytes_max_) {
        return 0;
    }
    peer->pushed += bytes;
    return ++peer->pushes_reserved;
}

base::Status OfiPort::push(const Pushed& to, const void* address, std::uint64_t cookie) noexcept
{
    const std::lock_guard guard(network_.lock_);
    if (!network_.failure_.empty()) [[unlikely]] {
        return base::Status::failed;
    }
    Peer* const peer = introduced_peer_of(to.rank);  // since it has a number
    if (to.number != peer->pushes_begun + 1) {
        return refuse(base::Status::retry_lane_full);
    }
    TransferSlot& slot = next_transfer({.kind = Target::Kind::push,
                                        .rank = to.rank,
                                        .bytes = to.bytes,
                                        .cookie = cookie,
                                        .number = to.number});
    const long code =
        fi_tsend(network_.fabric_.pusher.get(), address, to.bytes, nullptr,
                 peer->destination->push_address, tag_of(rank_, to.rank, to.number), &slot.context);
    if (code == -FI_EAGAIN) {
        note(peer->are_pushes_unconnected, true);
        return refuse(base::Status::retry_not_connected);
    }
    if (code != 0) {
        network_.fail("a long message to " + peer->destination->name + " cannot be sent over " +
                      network_.description_ + " (" + fi_strerror(static_cast<int>(-code)) +
                      "); is it alive, and its network up?");
        return base::Status::failed;
    }
    note(peer->are_pushes_unconnected, false);
    ++peer->pushes_begun;
    begin_transfer(slot);
    return base::Status::done;
}

/// Says where a push goes. done; retry_lane_full: not now; failed.
base::Status OfiPort::receive_pushed(const TransferName& name, void* address) noexcept
{
    TransferSlot& slot = next_transfer(name);
    const long code =
        fi_trecv(network_.fabric_.pusher.get(), address, name.bytes, nullptr, FI_ADDR_UNSPEC,
                 tag_of(name.rank, rank_, name.number), 0, &slot.context);
    if (code == -FI_EAGAIN) {
        return refuse(base::Status::retry_lane_full);
    }
    if (code != 0) {
        network_.fail(describe_failure("fi_trecv", code).sentence);
        return base::Status::failed;
    }
    begin_transfer(slot);
    return base::Status::done;
}

/// From its stream into memory of the port, unless it is there.
void OfiPort::drain(Peer& peer, std::uint64_t number, Waiting& what) noexcept
{
    if (what.memory != nullptr) {
        return;
    }
    what.memory.reset(new (std::nothrow) std::byte[what.bytes]);
    const bool is_begun =
        what.memory != nullptr &&
        receive_pushed(
            {.kind = Target::Kind::drain, .rank = peer.rank, .bytes = what.bytes, .number = number},
            what.memory.get()) == base::Status::done;
    if (!is_begun) {
        network_.fail("there is no memory for a message of " + std::to_string(what.bytes) +
                      " bytes from " + network_.describe(peer.rank) +
                      ", which came before one that is received now; post receives in the order "
                      "of the messages, or set HEADWAY_NETWORK_PUSH_MAX=0");
    }
}

void OfiPort::drain_before(Peer& peer, std::uint64_t number) noexcept
{
    for (auto& [earlier, what] : peer.waiting) {
        if (earlier >= number) {
            return;
        }
        drain(peer, earlier, what);
    }
}

void OfiPort::leave_pushed(const Pushed& what) noexcept
{
    const std::lock_guard guard(network_.lock_);
    Peer& peer = peer_of(what.rank);
    const auto [place, is_new] = peer.waiting.try_emplace(what.number);
    if (!is_new) {
        network_.fail_push(what.rank);
        return;
    }
    place->second.bytes = what.bytes;
    if (what.number < peer.latest_taken) {
        drain(peer, what.number, place->second);
    }
}

/// Of what is in memory of the port: to its receiver.
void OfiPort::hand_out(Peer& peer, std::uint64_t number) noexcept
{
    const auto found = peer.waiting.find(number);
    const Waiting& what = found->second;
    if (what.target_bytes != 0) {  // an empty buffer may have no address
        std::memcpy(what.target, what.memory.get(), what.target_bytes);
    }
    transfers_ended_.push_back({.cookie = what.cookie, .pusher = &peer, .bytes = what.bytes});
    peer.waiting.erase(found);
}

base::Status OfiPort::take_pushed(const Pushed& what, void* address, std::size_t bytes,
                                  std::uint64_t cookie) noexcept
{
    const std::lock_guard guard(network_.lock_);
    Peer& peer = peer_of(what.rank);
    drain_before(peer, what.number);
    if (!network_.failure_.empty()) [[unlikely]] {
        return base::Status::failed;
    }
    const auto found = peer.waiting.find(what.number);
    if (found != peer.waiting.end() &&
        (found->second.bytes != what.bytes || found->second.is_wanted)) {
        network_.fail_push(what.rank);
        return base::Status::failed;
    }
    const bool is_drained = found != peer.waiting.end() && found->second.memory != nullptr;
    if (bytes == what.bytes && !is_drained) {
        const base::Status status = receive_pushed({.kind = Target::Kind::take,
                                                    .rank = what.rank,
                                                    .bytes = bytes,
                                                    .cookie = cookie,
                                                    .number = what.number},
                                                   address);
        if (status != base::Status::done) {
            return status;
        }
        if (found != peer.waiting.end()) {
            peer.waiting.erase(found);
        }
    } else {
        Waiting& waiting = peer.waiting[what.number];
        waiting.bytes = what.bytes;
        waiting.is_wanted = true;
        waiting.target = address;
        waiting.target_bytes = bytes;
        waiting.cookie = cookie;
        drain(peer, what.number, waiting);
        if (waiting.is_here) {
            hand_out(peer, what.number);
        }
    }
    peer.latest_taken = std::max(peer.latest_taken, what.number);
    return base::Status::done;
}

}  // namespace headway::transport::ofi
