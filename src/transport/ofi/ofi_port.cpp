// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/ofi_port.hpp"

#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "platform/cpu.hpp"
#include "transport/ofi/ofi_network.hpp"

namespace headway::transport::ofi {

namespace {

/// Longest payload of a frame that waits for others: a longer one is worth a call of its own.
constexpr std::size_t held_payload_max = 512;

/// So many bytes of frames go without waiting for more: what a packet costs is shared by then, and
/// the receiver begins while the rest is gathered.
constexpr std::size_t packet_bytes_good = 2048;

/// Between two frames of a burst: about as long as it takes to send one.
constexpr std::int64_t burst_gap_ns = 20'000;

/// Frames of a burst that go at once, since most bursts are no longer.
constexpr std::uint32_t frames_at_once = 2;

/// Ranks whose frames are held at a time; each takes a slot.
constexpr std::size_t peers_held_max = 8;

/// From a count to what a header says that it has become: windows are much shorter than the circle.
std::uint32_t distance(std::uint64_t count, std::uint32_t said) noexcept
{
    return said - static_cast<std::uint32_t>(count);
}

}  // namespace

/// Null: there was no contact yet. Most ranks are asked for several times in a row.
OfiPort::Peer* OfiPort::find_peer(std::uint32_t rank) noexcept
{
    if (latest_peer_ != nullptr && latest_peer_->rank == rank) [[likely]] {
        return latest_peer_;
    }
    const auto found = peers_.find(rank);
    if (found == peers_.end()) {
        return nullptr;
    }
    latest_peer_ = &found->second;
    return latest_peer_;
}

OfiPort::Peer& OfiPort::peer_of(std::uint32_t rank)
{
    Peer* const found = find_peer(rank);
    if (found != nullptr) [[likely]] {
        return *found;
    }
    Peer& peer = peers_[rank];
    peer.rank = rank;
    return peer;
}

/// Null: the network does not know the rank.
OfiPort::Peer* OfiPort::introduced_peer_of(std::uint32_t rank)
{
    Peer& peer = peer_of(rank);
    if (peer.destination == nullptr) [[unlikely]] {
        const auto found = network_.destinations_.find(rank);
        peer.destination = found != network_.destinations_.end() ? &found->second : nullptr;
    }
    return peer.destination != nullptr ? &peer : nullptr;
}

/// The rank is called when there may be room.
base::Status OfiPort::refuse(base::Status why) noexcept
{
    if (!std::exchange(wants_room_, true)) {
        ++network_.wanting_;
    }
    return why;
}

base::Status OfiPort::post(std::uint32_t rank, FrameKind kind, const FrameHeader& header,
                           const void* payload, std::size_t payload_bytes) noexcept
{
    const std::lock_guard guard(network_.lock_);
    Peer* const peer = introduced_peer_of(rank);
    if (peer == nullptr) [[unlikely]] {
        return base::Status::retry_unknown;
    }
    const std::uint64_t open_bytes = peer->sent - peer->acknowledged;
    const bool is_unwelcome = kind == FrameKind::eager && !peer->takes_eager;
    if (is_unwelcome || open_bytes + sizeof(WireHeader) + payload_bytes > network_.window_bytes_) {
        return refuse(base::Status::retry_lane_full);
    }
    return transmit(*peer, kind, header, payload, payload_bytes);
}

/// Whether a frame may wait for the next ones: it belongs to a burst of short ones to one rank,
/// whose poster has not looked at the network since. The first ones go at once.
bool OfiPort::may_hold(Peer& peer, FrameKind kind, std::size_t payload_bytes) noexcept
{
    if (!network_.may_hold_ || kind != FrameKind::eager || payload_bytes > held_payload_max) {
        peer.burst = 0;
        return false;
    }
    const std::int64_t now_ns = platform::monotonic_ns();
    const bool goes_on = peer.posted_turn == turn_ && now_ns - peer.posted_ns < burst_gap_ns;
    peer.burst = goes_on ? peer.burst + 1 : 0;
    peer.posted_ns = now_ns;
    peer.posted_turn = turn_;
    return peer.burst >= frames_at_once && held_.size() < peers_held_max;
}

/// From now on, or still.
void OfiPort::hold(Peer& peer, SendSlot* slot)
{
    if (std::exchange(peer.held, slot) == nullptr) {
        held_.push_back(&peer);
        // Relaxed: see has_held().
        held_count_.store(static_cast<std::uint32_t>(held_.size()), std::memory_order_relaxed);
    }
}

/// Gives a packet to the provider. done; retry_not_connected, and it stays the caller's; failed.
base::Status OfiPort::send_off(Peer& peer, SendSlot& slot) noexcept
{
    const long code =
        fi_send(network_.fabric_.endpoint.get(), slot.bytes, slot.used,
                network_.slots_.descriptor(), peer.destination->address, &slot.context);
    if (code == 0) {
        // Relaxed: see has_unsent().
        in_flight_.fetch_add(1, std::memory_order_relaxed);
        note(peer.is_unconnected, false);
        return base::Status::done;
    }
    if (code == -FI_EAGAIN) {
        note(peer.is_unconnected, true);
        return base::Status::retry_not_connected;
    }
    network_.fail(peer.destination->name + " cannot be reached over " + network_.description_ +
                  " (" + fi_strerror(static_cast<int>(-code)) +
                  "); is it alive, and its network up?");
    return base::Status::failed;
}

/// Requires: some are held.
base::Status OfiPort::send_held_of(Peer& peer) noexcept
{
    const base::Status status = send_off(peer, *peer.held);
    if (status == base::Status::done) {
        peer.held = nullptr;
        std::erase(held_, &peer);
        // Relaxed: see has_held().
        held_count_.store(static_cast<std::uint32_t>(held_.size()), std::memory_order_relaxed);
        return status;
    }
    return status == base::Status::failed ? status : refuse(status);
}

/// False: the provider has no room for some.
bool OfiPort::send_held() noexcept
{
    bool have_all_left = true;
    for (std::size_t left = held_.size(); left-- != 0;) {
        have_all_left = send_held_of(*held_[left]) == base::Status::done && have_all_left;
    }
    return have_all_left;
}

base::Status OfiPort::transmit(Peer& peer, FrameKind kind, const FrameHeader& header,
                               const void* payload, std::size_t payload_bytes) noexcept
{
    if (!network_.failure_.empty()) [[unlikely]] {
        return base::Status::failed;
    }
    const std::size_t bytes = sizeof(WireHeader) + payload_bytes;
    if (peer.held != nullptr && next_frame(peer.held->used) + bytes > network_.packet_bytes_max_) {
        const base::Status status = send_held_of(peer);
        if (status != base::Status::done) {
            return status;
        }
    }
    SendSlot* const slot = peer.held != nullptr ? peer.held : network_.slots_.acquire();
    if (slot == nullptr) {
        return refuse(base::Status::retry_lane_full);
    }
    if (peer.held == nullptr) {
        slot->rank = peer.rank;
        slot->port = this;
        slot->used = 0;
    }
    WireHeader wire;
    wire.magic = wire_magic;
    wire.version = wire_version;
    wire.kind = kind;
    wire.flags = is_full_ ? wire_is_full : std::uint8_t{0};
    wire.taken = static_cast<std::uint32_t>(peer.taken);
    wire.pushes_taken = static_cast<std::uint32_t>(peer.pushes_taken);
    wire.sender = rank_;
    wire.receiver = peer.rank;
    wire.number = peer.frames_sent;
    wire.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
    wire.message = header;
    wire.proof = proof_of(wire, network_.judge_.secret);
    slot->used = next_frame(slot->used);
    std::memcpy(slot->bytes + slot->used, &wire, sizeof wire);
    if (payload_bytes != 0) {  // an empty payload may have no address
        std::memcpy(slot->bytes + slot->used + sizeof wire, payload, payload_bytes);
    }
    slot->used += bytes;
    if (may_hold(peer, kind, payload_bytes) && slot->used < packet_bytes_good) {
        hold(peer, slot);
    } else if (peer.held != nullptr) {
        // Where the provider has no room the frame stays with the others, for the next look.
        if (send_held_of(peer) == base::Status::failed) {
            return base::Status::failed;
        }
    } else if (const base::Status status = send_off(peer, *slot); status != base::Status::done) {
        network_.slots_.release(slot);
        return status == base::Status::failed ? status : refuse(status);
    }
    ++peer.frames_sent;
    peer.told = peer.taken;
    peer.pushes_told = peer.pushes_taken;
    if (std::exchange(peer.is_owed, false)) [[unlikely]] {
        std::erase(owing_, &peer);
    }
    if (kind != FrameKind::none) {
        peer.sent += bytes;
    }
    return base::Status::done;
}

/// What the provider said of the newest frame for a peer, or of the newest read. It has one word
/// for a connection that is being made and a queue that is full; of the latter the descriptor would
/// tell.
void OfiPort::note(bool& was_unconnected, bool is_unconnected) noexcept
{
    if (was_unconnected != is_unconnected) [[unlikely]] {
        was_unconnected = is_unconnected;
        unconnected_ += is_unconnected ? 1 : UINT32_MAX;
    }
}

void OfiPort::owe(Peer& peer) noexcept
{
    if (!peer.is_owed) {
        peer.is_owed = true;
        owing_.push_back(&peer);
    }
}

/// Tells what was taken to whom it is due, as far as the provider has room.
void OfiPort::pay() noexcept
{
    for (std::size_t left = owing_.size(); left-- != 0;) {
        if (owing_[left]->destination != nullptr) {
            (void)transmit(*owing_[left], FrameKind::none, {}, nullptr, 0);
        }
    }
}

void OfiPort::announce_full(bool is_full) noexcept
{
    if (is_full == is_full_) {
        return;
    }
    const std::lock_guard guard(network_.lock_);
    is_full_ = is_full;
    for (auto& [rank, peer] : peers_) {
        if (peer.frames_received != 0) {
            owe(peer);
        }
    }
}

bool OfiPort::takes_eager(std::uint32_t rank) noexcept
{
    const std::lock_guard guard(network_.lock_);
    const Peer* const peer = find_peer(rank);
    return peer == nullptr || peer->takes_eager;
}

OfiPort::Order OfiPort::place(const WireHeader& header) noexcept
{
    const Peer* const peer = find_peer(header.sender);
    const std::uint32_t expected = peer != nullptr ? peer->frames_received : 0;
    const auto ahead = static_cast<std::int32_t>(header.number - expected);
    if (ahead < 0) {
        return Order::past;
    }
    const bool is_possible =
        peer != nullptr
            ? distance(peer->acknowledged, header.taken) <= peer->sent - peer->acknowledged &&
                  distance(peer->pushes_acknowledged, header.pushes_taken) <=
                      peer->pushed - peer->pushes_acknowledged
            : header.taken == 0 && header.pushes_taken == 0;
    return ahead == 0 && is_possible ? Order::next : Order::broken;
}

/// What the next frame of a sender says about it.
OfiPort::Peer& OfiPort::accept(const WireHeader& header) noexcept
{
    Peer& peer = peer_of(header.sender);
    ++peer.frames_received;
    peer.acknowledged += distance(peer.acknowledged, header.taken);
    peer.pushes_acknowledged += distance(peer.pushes_acknowledged, header.pushes_taken);
    peer.takes_eager = (header.flags & wire_is_full) == 0;
    return peer;
}

/// The owner looks by himself, and tries again what was refused.
void OfiPort::begin_look() noexcept
{
    is_called_ = false;
    is_left_ = false;
    ++turn_;
    network_.end_sleep(*this);
    network_.wanting_ -= std::exchange(wants_room_, false) ? 1U : 0U;
    if (!held_.empty()) {
        (void)send_held();
    }
    if (!owing_.empty()) [[unlikely]] {
        pay();
    }
}

bool OfiPort::take_letter() noexcept
{
    if (letters_.empty()) [[likely]] {
        return false;
    }
    current_ = std::move(letters_.front());
    letters_.pop_front();
    return true;
}

bool OfiPort::poll(Frame& frame, std::uint32_t& sender) noexcept
{
    if (current_.peer == nullptr) {
        const std::unique_lock guard(network_.lock_, std::try_to_lock);
        if (!guard.owns_lock() || !network_.look_for(*this)) {
            return false;
        }
    } else if (!owing_.empty()) {
        const std::lock_guard guard(network_.lock_);
        pay();
    }
    frame = current_.frame;
    sender = current_.peer->rank;
    return true;
}

bool OfiPort::poll_next(Frame& frame, std::uint32_t& sender) noexcept
{
    // Not to be put off by one who only sends: he does not look, and of what has been read already,
    // perhaps for a rank that sleeps, the system will not tell again.
    const std::lock_guard guard(network_.lock_);
    let_go();
    if (!take_letter() && !network_.take_events({this, &called_})) {
        return false;
    }
    frame = current_.frame;
    sender = current_.peer->rank;
    return true;
}

bool OfiPort::settle() noexcept
{
    if (current_.peer != nullptr) {  // another frame would take its place
        return false;
    }
    const std::lock_guard guard(network_.lock_);
    return network_.settle(*this);
}

void OfiPort::release() noexcept
{
    const std::lock_guard guard(network_.lock_);
    let_go();
}

/// Of the current frame. Requires: there is one.
void OfiPort::let_go() noexcept
{
    Peer& peer = *current_.peer;
    (void)introduced_peer_of(peer.rank);
    peer.taken += sizeof(WireHeader) + current_.frame.payload_bytes;
    if (peer.taken - peer.told >= network_.window_bytes_ / 4) {
        owe(peer);
    }
    if (current_.block != nullptr) {
        network_.unpin(*current_.block);
    }
    current_ = {};
}

bool OfiPort::poll_called(std::uint32_t& rank) noexcept
{
    if (called_.empty()) [[likely]] {
        return false;
    }
    rank = called_.back();
    called_.pop_back();
    return true;
}

/// Whether the rank finds something without a look at the system.
bool OfiPort::has_news() const noexcept
{
    return current_.peer != nullptr || is_called_ || !letters_.empty() ||
           !transfers_ended_.empty() || !network_.failure_.empty();
}

/// Nobody pays or sends in the place of a rank that goes, and its last look may have found the
/// endpoint taken by others. What the provider has no room for calls it when there is some.
void OfiPort::leave_nothing() noexcept
{
    (void)send_held();
    if (!owing_.empty()) [[unlikely]] {
        pay();
    }
}

/// From now on the rank is called.
void OfiPort::fall_asleep() noexcept
{
    if (!std::exchange(sleeps_, true)) {
        network_.count_sleeping(1);
    }
}

bool OfiPort::prepare_absence() noexcept
{
    const std::lock_guard guard(network_.lock_);
    (void)network_.take_events({nullptr, &called_});
    if (has_news()) {
        return false;
    }
    leave_nothing();
    network_.looks_.store(0, std::memory_order_relaxed);  // a hint
    fall_asleep();
    return true;
}

bool OfiPort::prepare_sleep() noexcept
{
    const std::lock_guard guard(network_.lock_);
    // Nobody looks, not even this rank, which may find that it need not wait: of what is read here
    // for others the descriptor will not tell again.
    const OfiNetwork::Look nobodys_look{nullptr, &called_};
    (void)network_.take_events(nobodys_look);
    if (has_news()) {
        return false;
    }
    leave_nothing();
    if (network_.descriptor_ >= 0) {
        // Nor of what came before it was cleared, or what it was not cleared for.
        const bool is_cleared = network_.clear_descriptor() == 0;
        if (network_.take_in(nobodys_look) || !is_cleared || !network_.failure_.empty()) {
            return false;
        }
    }
    fall_asleep();
    return true;
}

}  // namespace headway::transport::ofi
