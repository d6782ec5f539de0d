// SPDX-License-Identifier: Apache-2.0
#include "protocol/point_to_point.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/observation.hpp"
#include "platform/fatal.hpp"
#include "protocol/offer.hpp"
#include "protocol/rank_part.hpp"
#include "protocol/rendezvous.hpp"

namespace headway::protocol {

using engine::Driver;
using engine::Op;
using engine::OpError;

namespace {

/// Nothing can be done for a message that has left its sender and finds no place here.
[[noreturn]] void no_room_for_messages(Driver& driver)
{
    platform::fatal(driver.rank().rank,
                    "the node heap is full of messages that arrived before their receives; post "
                    "receives earlier or raise HEADWAY_HEAP_SIZE, or the size of /dev/shm where "
                    "the heap is there");
}

MatchContext& context_of(Driver& driver, std::uint32_t id)
{
    MatchContext* context = part_of(driver.rank()).match.context(driver.allocator(), id);
    if (context == nullptr) {
        no_room_for_messages(driver);
    }
    return *context;
}

void deliver_eager(Driver& driver, Op* receive, const transport::FrameHeader& header,
                   const std::byte* payload, std::uint64_t size_bytes)
{
    const std::uint64_t taken = std::min(size_bytes, receive->size_bytes);
    if (taken != 0 && !driver.write_memory(receive->address, payload, taken)) [[unlikely]] {
        receive->error = OpError::bad_address;
    }
    receive->header.sequence = header.sequence;  // by which a trace names the message
    receive->status_source = header.source;
    receive->status_tag = header.tag;
    receive->status_bytes = taken;
    if (size_bytes > taken) {
        receive->error = OpError::truncated;
    }
    driver.complete(receive);
}

/// Counts what the rank holds, in bytes of the heap's blocks, and tells senders when it is full
/// and when it has room again; the gap between the two keeps them from changing their mind with
/// every message.
void count_unexpected(Driver& driver, std::uint64_t change)
{
    engine::RankState& rank = driver.rank();
    const std::uint64_t limit = driver.node().knobs.unexpected_limit;
    const std::uint64_t held = part_of(rank).unexpected_bytes += change;
    // Relaxed: see RankState::is_full; the counters have one writer.
    if (held >= limit) {
        rank.is_full.store(1, std::memory_order_relaxed);
    } else if (held < limit / 2 && !rank.takes_eager()) {
        rank.is_full.store(0, std::memory_order_relaxed);
    }
    engine::RankCounters& counters = rank.counters;
    counters.unexpected_bytes.store(held, std::memory_order_relaxed);
    if (held > counters.unexpected_bytes_max.load(std::memory_order_relaxed)) {
        counters.unexpected_bytes_max.store(held, std::memory_order_relaxed);
    }
}

void keep_eager(Driver& driver, MatchContext& context, const transport::Frame& frame)
{
    void* place = driver.allocator().allocate(sizeof(Unexpected) + frame.payload_bytes);
    if (place == nullptr) {
        no_room_for_messages(driver);
    }
    auto* message = new (place) Unexpected;
    message->header = frame.header;
    message->message_bytes = frame.payload_bytes;
    std::memcpy(message->payload(), frame.payload, frame.payload_bytes);
    count_unexpected(driver, driver.allocator().usable_bytes(message));
    context.keep(message);
}

void keep_offer(MatchContext& context, const transport::Frame& frame)
{
    const auto offer = frame.record<Offer>();
    Unexpected* message = &offer.send->arrival;
    message->header = frame.header;
    message->offered = offer.send;
    message->message_bytes = offer.size_bytes;
    context.keep(message);
}

/// Of a send of any rank.
Offer offer_of(Driver& driver, Op& send) noexcept
{
    const bool is_in_heap = driver.node().heap->contains(send.address);
    return {
        .send = &send,
        .source = {send.address, is_in_heap ? transport::Place::everywhere : send.owner->process},
        .size_bytes = send.size_bytes};
}

std::uint64_t bytes_named(transport::FrameKind kind, const void* payload, std::size_t payload_bytes)
{
    if (kind == transport::FrameKind::eager) {
        return payload_bytes;
    }
    if (kind != transport::FrameKind::request_to_send) {
        return engine::no_message;
    }
    Offer offer;
    std::memcpy(&offer, payload, sizeof offer);
    return offer.size_bytes;
}

void take_message(Driver& driver, const transport::Frame& frame, std::uint32_t /*sender*/)
{
    MatchContext& context = context_of(driver, frame.header.context);
    Op* receive = context.take_posted(frame.header);
    const bool is_eager = frame.kind == transport::FrameKind::eager;
    if (driver.tracer() != nullptr) [[unlikely]] {
        record_received(driver, frame.header,
                        bytes_named(frame.kind, frame.payload, frame.payload_bytes));
    }
    if (receive == nullptr) {
        is_eager ? keep_eager(driver, context, frame) : keep_offer(context, frame);
    } else if (is_eager) {
        deliver_eager(driver, receive, frame.header, frame.payload, frame.payload_bytes);
    } else {
        pull(driver, receive, frame.header, frame.record<Offer>());
    }
}

void make_offer(Driver& driver, Op* op)
{
    if (op->graph == nullptr) {
        driver.mark_open(op);
    }
    const Offer offer = offer_of(driver, *op);
    op->frame_kind = transport::FrameKind::request_to_send;
    op->record_bytes = sizeof offer;
    std::memcpy(op->record, &offer, sizeof offer);
}

}  // namespace

void register_protocols(engine::Node& node)
{
    const auto set = [&](transport::FrameKind kind, engine::FrameHandler handler) {
        node.handlers[static_cast<std::size_t>(kind)] = handler;
    };
    set(transport::FrameKind::eager, &take_message);
    set(transport::FrameKind::request_to_send, &take_message);
    set(transport::FrameKind::pipe_open, &take_pipe_opening);
    set(transport::FrameKind::clear_to_send, &take_clear_to_send);
    set(transport::FrameKind::delivered, &take_delivered);
    node.poller = &move_pipes;
    node.messages.start_send = [](Driver& driver, Op* op) { start_send(driver, op, false); };
    node.messages.start_receive = &start_receive;
    node.messages.make_offer = &make_offer;
    node.messages.post_answer = &post_answer;
    node.messages.bytes_named = &bytes_named;
}

bool create_rank_part(Driver& driver)
{
    void* place = driver.allocator().allocate(sizeof(RankPart));
    if (place == nullptr) {
        return false;
    }
    driver.rank().protocol = new (place) RankPart;
    count_unexpected(driver, 0);  // a limit of 0 is reached from the start
    return true;
}

void start_send(Driver& driver, Op* op, bool is_synchronous)
{
    if (!is_synchronous && op->size_bytes <= driver.node().knobs.eager_limit) {
        op->frame_kind = transport::FrameKind::eager;
    } else {
        make_offer(driver, op);
    }
    driver.post(op);
}

void start_receive(Driver& driver, Op* op)
{
    MatchContext& context = context_of(driver, op->header.context);
    Unexpected* message = context.find(op->header);
    if (message == nullptr) {
        if (op->size_bytes > driver.node().knobs.eager_limit && op->graph == nullptr) {
            driver.mark_open(op);
        }
        context.post(op);
        return;
    }
    context.remove(message);
    start_matched_receive(driver, op, message);
}

void take(Driver& driver, Unexpected* message)
{
    context_of(driver, message->header.context).remove(message);
}

void start_matched_receive(Driver& driver, Op* op, Unexpected* message)
{
    if (message->offered != nullptr) {
        // A part of the sender's op, which may be gone when pull returns.
        const transport::FrameHeader header = message->header;
        pull(driver, op, header, offer_of(driver, *message->offered));
        return;
    }
    deliver_eager(driver, op, message->header, message->payload(), message->message_bytes);
    count_unexpected(driver, 0 - driver.allocator().usable_bytes(message));
    driver.allocator().free(message);
}

bool cancel_receive(Driver& driver, Op* op)
{
    if (op->word.is_complete() || !context_of(driver, op->header.context).cancel(op)) {
        return false;
    }
    op->is_cancelled = true;
    driver.complete(op);
    return true;
}

bool is_quiet(engine::RankState& rank)
{
    return rank.peers_waiting == nullptr && part_of(rank).outgoing == nullptr;
}

Unexpected* probe(Driver& driver, const transport::FrameHeader& wanted)
{
    return context_of(driver, wanted.context).find(wanted);
}

}  // namespace headway::protocol
