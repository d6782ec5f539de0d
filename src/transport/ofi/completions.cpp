// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the provider's completions: packets that have left, reads that have ended, and
// packets that have come, which are judged and handed to the ports that their frames are for.
#include <cstring>
#include <utility>

#include "transport/ofi/ofi_network.hpp"

namespace headway::transport::ofi {

/// The provider has room again, for whoever comes first.
void OfiNetwork::make_room(const Look& look) noexcept
{
    if (wanting_ == 0) [[likely]] {
        return;
    }
    for (const auto& port : ports_) {
        if (port->wants_room_) {
            call(*port, look);
        }
    }
}

/// False: there is none.
bool OfiNetwork::read_completions(const Look& look) noexcept
{
    const ssize_t count = fi_cq_read(fabric_.completions.get(), events_.data(), events_.size());
    next_event_ = 0;
    event_count_ = count > 0 ? static_cast<std::size_t>(count) : 0;
    if (count == -FI_EAVAIL) {
        read_error(look);
    } else if (count < 0 && count != -FI_EAGAIN) {
        fail(describe_failure("fi_cq_read", count).sentence);
    }
    if (!failure_.empty()) {
        for (const auto& port : ports_) {
            call(*port, look);
        }
    }
    return count > 0;
}

void OfiNetwork::end_send(SendSlot& slot, const Look& look) noexcept
{
    // Relaxed: see OfiPort::has_unsent().
    slot.port->in_flight_.fetch_sub(1, std::memory_order_relaxed);
    slots_.release(&slot);
    make_room(look);
}

void OfiNetwork::read_error(const Look& look) noexcept
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
    if (target->kind != Target::Kind::send) {
        lose_transfer(*static_cast<TransferSlot*>(target), text);
        return;
    }
    auto* const slot = static_cast<SendSlot*>(target);
    fail(describe(slot->rank) + " cannot be reached over " + description_ + " (" + text +
         "); is it alive, and its network up?");
    end_send(*slot, look);
}

void OfiNetwork::lose_transfer(const TransferSlot& slot, const std::string& why) noexcept
{
    const std::string name = describe(slot.rank);
    const std::string what =
        slot.kind == Target::Kind::read   ? "memory of " + name + " cannot be read"
        : slot.kind == Target::Kind::push ? "a long message to " + name + " cannot be sent"
                                          : "a long message of " + name + " was lost";
    fail(what + " over " + description_ + " (" + why + "); is it alive, and its network up?");
}

/// What a rank has pushed and what it has said of it do not go together.
void OfiNetwork::fail_push(std::uint32_t rank) noexcept
{
    fail("a long message of " + describe(rank) + " came over " + description_ +
         " otherwise than it was offered");
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
    const bool is_let_go =
        is_layered || (fabric_.info->caps & FI_MULTI_RECV) == 0 || (flags & FI_MULTI_RECV) != 0;
    if (block != nullptr && is_let_go) {
        block->is_spent = true;
        give_back(*block);
    }
}

/// To the provider, if nothing more comes in it and nobody looks at what came.
void OfiNetwork::give_back(ReceiveBlock& block) noexcept
{
    if (!block.is_spent || block.pins != 0) {
        return;
    }
    block.is_spent = false;
    if (const long code = blocks_.post(block); code != 0) {
        fail(describe_failure("fi_recv", code).sentence);
    }
}

void OfiNetwork::unpin(ReceiveBlock& block) noexcept
{
    --block.pins;
    give_back(block);
}

/// True: whoever looks has it before him; else it waits at its port.
bool OfiNetwork::hand_over(OfiPort::Letter letter, OfiPort& port, const Look& look) noexcept
{
    if (&port == look.port && port.letters_.empty()) [[likely]] {
        ++letter.block->pins;
        port.current_ = std::move(letter);
        return true;
    }
    const std::size_t bytes = letter.frame.payload_bytes;
    letter.block = nullptr;
    letter.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes);
    if (bytes != 0) {
        std::memcpy(letter.bytes.get(), letter.frame.payload, bytes);
    }
    letter.frame.payload = letter.bytes.get();
    port.letters_.push_back(std::move(letter));
    call(port, look);
    return false;
}

/// True: it is a frame for the port that looks, and its current one. Requires: a frame that is
/// good or malformed.
bool OfiNetwork::take_frame(const std::byte* bytes, const WireHeader& header, Verdict verdict,
                            const Look& look) noexcept
{
    OfiPort* const port = verdict == Verdict::good ? &port_of(header.receiver) : nullptr;
    // Somebody who has seen a frame can send it again, but not another one.
    const auto order = port != nullptr ? port->place(header) : OfiPort::Order::broken;
    if (order == OfiPort::Order::broken) {
        fail("a message of " +
             (header.sender < judge_.rank_count ? describe(header.sender)
                                                : std::string("an unknown rank")) +
             " came over " + description_ + " broken or not in order");
        return false;
    }
    if (order == OfiPort::Order::past) {
        return false;
    }
    OfiPort::Peer& peer = port->accept(header);
    if (port->wants_room_) {
        call(*port, look);  // its window may be open again
    }
    return header.kind != FrameKind::none &&
           hand_over({.frame = {.kind = header.kind,
                                .header = header.message,
                                .payload = bytes + sizeof header,
                                .payload_bytes = header.payload_bytes},
                      .peer = &peer,
                      .block = packet_.block,
                      .bytes = nullptr},
                     *port, look);
}

/// The rest of the packet, as far as to the first frame of the port that looks; true if there is
/// one. What follows a frame that is not proven is nobody's.
bool OfiNetwork::take_packet(const Look& look) noexcept
{
    bool is_here = false;
    while (packet_.block != nullptr && !is_here) {
        WireHeader header;
        const std::byte* const bytes = packet_.next;
        const Verdict verdict = judge(bytes, packet_.bytes, judge_, &header);
        if (verdict != Verdict::foreign) {
            is_here = take_frame(bytes, header, verdict, look);
        }
        // Only a good header says how long its frame is.
        const std::size_t distance =
            verdict == Verdict::good ? frame_distance(header.payload_bytes) : packet_.bytes;
        if (distance >= packet_.bytes || !failure_.empty()) {
            unpin(*std::exchange(packet_, {}).block);
        } else {
            packet_.next += distance;
            packet_.bytes -= distance;
        }
    }
    return is_here;
}

/// As take_packet(), of a packet that has just come.
bool OfiNetwork::take_arrival(ReceiveBlock& block, const fi_cq_data_entry& entry,
                              const Look& look) noexcept
{
    block.is_spent =
        (fabric_.info->caps & FI_MULTI_RECV) == 0 || (entry.flags & FI_MULTI_RECV) != 0;
    ++block.pins;
    packet_ = {
        .block = &block,
        .next = static_cast<const std::byte*>(entry.buf != nullptr ? entry.buf : block.bytes),
        .bytes = entry.len};
    return take_packet(look);
}

bool OfiNetwork::take_completion(const fi_cq_data_entry& entry, const Look& look) noexcept
{
    auto* const target = static_cast<Target*>(entry.op_context);
    if (target->kind == Target::Kind::send) {
        end_send(*static_cast<SendSlot*>(target), look);
        return false;
    }
    if (target->kind != Target::Kind::receive) {
        auto& slot = *static_cast<TransferSlot*>(target);
        const bool is_pushed_here =
            target->kind == Target::Kind::take || target->kind == Target::Kind::drain;
        if (is_pushed_here && entry.len != slot.bytes) {
            fail_push(slot.rank);
            return false;
        }
        slot.port->end_transfer(slot);
        call(*slot.port, look);
        return false;
    }
    auto& block = *static_cast<ReceiveBlock*>(target);
    if ((entry.flags & FI_RECV) == 0 || entry.len == 0) {
        if ((entry.flags & FI_MULTI_RECV) != 0) {
            block.is_spent = true;
            give_back(block);
        }
        return false;
    }
    return take_arrival(block, entry, look);
}

/// What has been read and not been dealt with yet. True: a frame for the port that looks.
bool OfiNetwork::take_events(const Look& look) noexcept
{
    if (packet_.block != nullptr && take_packet(look)) {
        return true;
    }
    while (next_event_ != event_count_ && failure_.empty()) {
        if (take_completion(events_[next_event_++], look)) {
            return true;
        }
    }
    return false;
}

}  // namespace headway::transport::ofi
