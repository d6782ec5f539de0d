// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/ofi_network.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace headway::transport::ofi {

namespace {

/// Longest frame with its header: what layered providers still send in one piece of their own.
constexpr std::size_t frame_bytes = 16 * 1024;

std::string hex_of(std::string_view bytes)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        text += digits[value >> 4];
        text += digits[value & 15];
    }
    return text;
}

/// Empty: it is none.
std::string bytes_of(std::string_view hex)
{
    const auto digit_of = [](char digit) {
        return digit >= '0' && digit <= '9'   ? digit - '0'
               : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                              : -1;
    };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        const int high = digit_of(hex[i]);
        const int low = digit_of(hex[i + 1]);
        if (high < 0 || low < 0) {
            return {};
        }
        bytes += static_cast<char>(high << 4 | low);
    }
    return hex.size() % 2 == 0 ? bytes : std::string();
}

}  // namespace

OfiNetwork::OfiNetwork(Fabric fabric, const NetworkOptions& options)
    : fabric_(std::move(fabric)),
      judge_{.secret = {}, .own_rank = options.own_rank, .rank_count = options.rank_count},
      window_bytes_(options.window_bytes),
      are_hosts_watched_(options.are_hosts_watched),
      peers_(options.rank_count)
{
}

base::Result<std::unique_ptr<OfiNetwork>> OfiNetwork::open(const NetworkOptions& options)
{
    auto info = choose_provider({options.provider, options.interface});
    if (!info) {
        return base::Failure{info.sentence()};
    }
    const std::string description = std::string(info.value()->fabric_attr->prov_name) + " on " +
                                    info.value()->domain_attr->name;
    auto fabric = Fabric::open(std::move(info.value()));
    if (!fabric) {
        return base::Failure{"the network (" + description +
                             ") cannot be used: " + fabric.sentence() +
                             "; name another one by HEADWAY_OFI_PROVIDER or "
                             "HEADWAY_OFI_INTERFACE"};
    }
    std::unique_ptr<OfiNetwork> network(new OfiNetwork(std::move(fabric.value()), options));
    network->description_ = description;
    if (auto prepared = network->prepare(); !prepared) {
        return base::Failure{"the network (" + description +
                             ") cannot be used: " + prepared.sentence()};
    }
    return network;
}

base::Outcome OfiNetwork::prepare()
{
    const std::size_t bytes = std::min(frame_bytes, fabric_.info->ep_attr->max_msg_size);
    if (bytes < 2 * sizeof(WireHeader) + inline_bytes_max) {
        return base::Failure{"its messages are too short (" + std::to_string(bytes) + " bytes)"};
    }
    payload_bytes_max_ = bytes - sizeof(WireHeader);
    const auto name = fabric_.name();
    if (!name) {
        return base::Failure{name.sentence()};
    }
    address_ = std::string(fabric_.info->fabric_attr->prov_name) + ":" + hex_of(name.value());
    if (fabric_.info->addr_format == FI_SOCKADDR || fabric_.info->addr_format == FI_SOCKADDR_IN ||
        fabric_.info->addr_format == FI_SOCKADDR_IN6) {
        socket_address_ = name.value();
    }
    descriptor_ = fabric_.descriptor();
    if (auto opened = slots_.open(fabric_, bytes); !opened) {
        return opened;
    }
    return blocks_.open(fabric_, bytes);
}

void OfiNetwork::join_job(const base::Secret& secret) noexcept
{
    judge_.secret = secret;
}

OfiNetwork::Peer& OfiNetwork::peer_of(std::uint32_t rank)
{
    std::unique_ptr<Peer>& peer = peers_[rank];
    if (peer == nullptr) {
        peer = std::make_unique<Peer>();
        peer->rank = rank;
        peer->name = "rank " + std::to_string(rank);
    }
    return *peer;
}

base::Outcome OfiNetwork::introduce(std::uint32_t rank, std::string_view address,
                                    std::string_view host)
{
    Peer& peer = peer_of(rank);
    peer.name = "rank " + std::to_string(rank) + " on host '" + std::string(host) + "'";
    const std::size_t colon = address.rfind(':');
    const std::string_view own(address_);
    if (colon == std::string_view::npos ||
        address.substr(0, colon) != own.substr(0, own.rfind(':'))) {
        return base::Failure{peer.name + " uses the network '" +
                             std::string(address.substr(0, std::min(colon, address.size()))) +
                             "' and this one '" + std::string(own.substr(0, own.rfind(':'))) +
                             "'; set HEADWAY_OFI_PROVIDER to one that all hosts have"};
    }
    const std::string bytes = bytes_of(address.substr(colon + 1));
    if (bytes.empty() ||
        fi_av_insert(fabric_.addresses.get(), bytes.data(), 1, &peer.address, 0, nullptr) != 1) {
        return base::Failure{"the network address of " + peer.name +
                             " makes no sense here; do "
                             "all hosts have the same libfabric provider?"};
    }
    peer.is_known = true;
    return base::Done{};
}

void OfiNetwork::fail(std::string sentence) noexcept
{
    if (failure_.empty()) {
        failure_ = std::move(sentence);
    }
}

std::string OfiNetwork::describe(std::uint32_t rank) const
{
    return peers_[rank] != nullptr ? peers_[rank]->name : "rank " + std::to_string(rank);
}

base::Status OfiNetwork::post(std::uint32_t rank, FrameKind kind, const FrameHeader& header,
                              const void* payload, std::size_t payload_bytes) noexcept
{
    Peer& peer = *peers_[rank];
    const std::uint64_t open_bytes = peer.sent - peer.acknowledged;
    if (open_bytes + sizeof(WireHeader) + payload_bytes > window_bytes_) {
        return base::Status::retry_lane_full;
    }
    return transmit(peer, kind, header, payload, payload_bytes);
}

base::Status OfiNetwork::transmit(Peer& peer, FrameKind kind, const FrameHeader& header,
                                  const void* payload, std::size_t payload_bytes) noexcept
{
    if (!failure_.empty()) [[unlikely]] {
        return base::Status::failed;
    }
    SendSlot* const slot = slots_.acquire();
    if (slot == nullptr) {
        return base::Status::retry_lane_full;
    }
    WireHeader wire;
    wire.magic = wire_magic;
    wire.version = wire_version;
    wire.kind = kind;
    wire.flags = is_full_ ? wire_is_full : std::uint8_t{0};
    wire.taken = peer.taken;
    wire.sender = judge_.own_rank;
    wire.receiver = peer.rank;
    wire.number = peer.frames_sent;
    wire.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
    wire.message = header;
    wire.proof = proof_of(wire, judge_.secret);
    std::memcpy(slot->bytes, &wire, sizeof wire);
    if (payload_bytes != 0) {  // an empty payload may have no address
        std::memcpy(slot->bytes + sizeof wire, payload, payload_bytes);
    }
    slot->rank = peer.rank;
    const std::size_t bytes = sizeof wire + payload_bytes;
    const long code = fi_send(fabric_.endpoint.get(), slot->bytes, bytes, slots_.descriptor(),
                              peer.address, &slot->context);
    if (code != 0) {
        slots_.release(slot);
        if (code == -FI_EAGAIN) {
            note(peer, true);
            return base::Status::retry_not_connected;
        }
        fail(peer.name + " cannot be reached over " + description_ + " (" +
             fi_strerror(static_cast<int>(-code)) + "); is it alive, and its network up?");
        return base::Status::failed;
    }
    note(peer, false);
    ++peer.frames_sent;
    peer.told = peer.taken;
    if (kind != FrameKind::none) {
        peer.sent += bytes;
    }
    return base::Status::done;
}

/// What the provider said of the newest frame or read for a peer. It has one word for a connection
/// that is being made and a queue that is full; of the latter the descriptor would tell.
void OfiNetwork::note(Peer& peer, bool is_unconnected) noexcept
{
    if (peer.is_unconnected != is_unconnected) [[unlikely]] {
        peer.is_unconnected = is_unconnected;
        unconnected_ += is_unconnected ? 1 : UINT32_MAX;
    }
}

void OfiNetwork::owe(Peer& peer) noexcept
{
    if (!peer.is_owed) {
        peer.is_owed = true;
        owing_.push_back(&peer);
    }
}

/// Tells what was taken to whom it is due, as far as the provider has room.
void OfiNetwork::pay() noexcept
{
    std::erase_if(owing_, [&](Peer* peer) {
        if (!peer->is_known ||
            transmit(*peer, FrameKind::none, {}, nullptr, 0) != base::Status::done) {
            return false;
        }
        peer->is_owed = false;
        return true;
    });
}

void OfiNetwork::announce_full(bool is_full) noexcept
{
    if (is_full == is_full_) {
        return;
    }
    is_full_ = is_full;
    for (const auto& peer : peers_) {
        if (peer != nullptr && peer->frames_received != 0) {
            owe(*peer);
        }
    }
}

/// False: there is none.
bool OfiNetwork::read_completions() noexcept
{
    const ssize_t count = fi_cq_read(fabric_.completions.get(), events_.data(), events_.size());
    next_event_ = 0;
    event_count_ = count > 0 ? static_cast<std::size_t>(count) : 0;
    if (count == -FI_EAVAIL) {
        read_error();
    } else if (count < 0 && count != -FI_EAGAIN) {
        fail(describe_failure("fi_cq_read", count).sentence);
    }
    return count > 0;
}

void OfiNetwork::read_error() noexcept
{
    fi_cq_err_entry error{};
    if (fi_cq_readerr(fabric_.completions.get(), &error, 0) != 1) {
        return;
    }
    auto* const target = static_cast<Target*>(error.op_context);
    std::string text = fi_strerror(error.err);
    const char* const own_text =
        fi_cq_strerror(fabric_.completions.get(), error.prov_errno, error.err_data, nullptr, 0);
    if (own_text != nullptr && text != own_text) {
        text += ", " + std::string(own_text);
    }
    if (target == nullptr || target->kind == Target::Kind::receive) {
        lose_arrival(static_cast<ReceiveBlock*>(target), error.flags, text);
        return;
    }
    if (target->kind == Target::Kind::read) {
        fail("memory of " + describe(static_cast<ReadSlot*>(target)->rank) +
             " cannot be read over " + description_ + " (" + text +
             "); is it alive, and its network up?");
        return;
    }
    auto* const slot = static_cast<SendSlot*>(target);
    fail(describe(slot->rank) + " cannot be reached over " + description_ + " (" + text +
         "); is it alive, and its network up?");
    slots_.release(slot);
}

/// What began to come and did not end, or is longer than any frame. Strangers can do that. If it
/// was a member's, its next frame is not in order.
void OfiNetwork::lose_arrival(ReceiveBlock* block, std::uint64_t flags,
                              const std::string& why) noexcept
{
    if (!are_hosts_watched_) {
        fail("a message from another host was lost over " + description_ + " (" + why +
             "); are all hosts alive, and their network up?");
        return;
    }
    // This layer lets go of a block at every error, though its flags do not say so.
    const bool is_layered =
        std::string_view(fabric_.info->fabric_attr->prov_name).ends_with(";ofi_rxm");
    if (is_layered || (fabric_.info->caps & FI_MULTI_RECV) == 0 || (flags & FI_MULTI_RECV) != 0) {
        give_back(block);
    }
}

void OfiNetwork::give_back(ReceiveBlock* block) noexcept
{
    if (block == nullptr) {
        return;
    }
    if (const long code = blocks_.post(*block); code != 0) {
        fail(describe_failure("fi_recv", code).sentence);
    }
}

OfiNetwork::Order OfiNetwork::place(const WireHeader& header) const noexcept
{
    const Peer* const peer = peers_[header.sender].get();
    const std::uint32_t expected = peer != nullptr ? peer->frames_received : 0;
    const auto ahead = static_cast<std::int32_t>(header.number - expected);
    if (ahead < 0) {
        return Order::past;
    }
    const std::uint64_t acknowledged = peer != nullptr ? peer->acknowledged : 0;
    const std::uint64_t sent = peer != nullptr ? peer->sent : 0;
    const bool is_possible = header.taken >= acknowledged && header.taken <= sent;
    return ahead == 0 && is_possible ? Order::next : Order::broken;
}

/// What the next frame of a sender says about it.
void OfiNetwork::accept(const WireHeader& header) noexcept
{
    Peer& peer = peer_of(header.sender);
    ++peer.frames_received;
    peer.acknowledged = header.taken;
    peer.takes_eager = (header.flags & wire_is_full) == 0;
}

/// True: it is a frame for the engine, and the current one.
bool OfiNetwork::take_arrival(ReceiveBlock& block, const fi_cq_data_entry& entry) noexcept
{
    const auto* const bytes =
        static_cast<const std::byte*>(entry.buf != nullptr ? entry.buf : block.bytes);
    ReceiveBlock* const spent =
        (fabric_.info->caps & FI_MULTI_RECV) == 0 || (entry.flags & FI_MULTI_RECV) != 0 ? &block
                                                                                        : nullptr;
    WireHeader header;
    const Verdict verdict = judge(bytes, entry.len, judge_, &header);
    // Somebody who has seen a frame can send it again, but not another one.
    const Order order = verdict == Verdict::good ? place(header) : Order::past;
    if (order == Order::next) {
        accept(header);
        if (header.kind != FrameKind::none) {
            current_ = {.frame = {.kind = header.kind,
                                  .header = header.message,
                                  .payload = bytes + sizeof header,
                                  .payload_bytes = header.payload_bytes},
                        .peer = peers_[header.sender].get(),
                        .spent_block = spent};
            return true;
        }
    }
    if (verdict == Verdict::malformed || order == Order::broken) {
        fail("a message of " +
             (header.sender < peers_.size() ? describe(header.sender)
                                            : std::string("an unknown rank")) +
             " came over " + description_ + " broken or not in order");
    }
    give_back(spent);
    return false;
}

bool OfiNetwork::take_completion(const fi_cq_data_entry& entry) noexcept
{
    auto* const target = static_cast<Target*>(entry.op_context);
    if (target->kind == Target::Kind::send) {
        slots_.release(static_cast<SendSlot*>(target));
        return false;
    }
    if (target->kind == Target::Kind::read) {
        end_read(*static_cast<ReadSlot*>(target));
        return false;
    }
    auto& block = *static_cast<ReceiveBlock*>(target);
    if ((entry.flags & FI_RECV) == 0 || entry.len == 0) {
        give_back((entry.flags & FI_MULTI_RECV) != 0 ? &block : nullptr);
        return false;
    }
    return take_arrival(block, entry);
}

bool OfiNetwork::poll(Frame& frame, std::uint32_t& sender) noexcept
{
    if (!owing_.empty()) [[unlikely]] {
        pay();
    }
    while (current_.peer == nullptr) {
        if (!failure_.empty() || (next_event_ == event_count_ && !read_completions())) {
            return false;
        }
        if (take_completion(events_[next_event_++])) {
            break;
        }
    }
    frame = current_.frame;
    sender = current_.peer->rank;
    return true;
}

void OfiNetwork::release() noexcept
{
    Peer& peer = *current_.peer;
    peer.taken += sizeof(WireHeader) + current_.frame.payload_bytes;
    if (peer.taken - peer.told >= window_bytes_ / 4) {
        owe(peer);
    }
    give_back(current_.spent_block);
    current_ = {};
}

bool OfiNetwork::prepare_sleep() noexcept
{
    if (current_.peer != nullptr || next_event_ != event_count_ || !reads_ended_.empty() ||
        !failure_.empty()) {
        return false;
    }
    if (descriptor_ < 0) {
        return true;
    }
    const int code = fabric_.clear_descriptor();
    if (code != 0 && code != -FI_EAGAIN) {
        fail(describe_failure("fi_trywait", code).sentence);
    }
    // What came before the descriptor was cleared will not be told again.
    return code == 0 && !read_completions() && failure_.empty();
}

}  // namespace headway::transport::ofi
