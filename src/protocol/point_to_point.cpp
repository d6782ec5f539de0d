// SPDX-License-Identifier: Apache-2.0
#include "protocol/point_to_point.hpp"

#include <algorithm>
#include <cstring>
#include <new>

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
    if (taken != 0) {
        std::memcpy(receive->address, payload, taken);
    }
    receive->status_source = header.source;
    receive->status_tag = header.tag;
    receive->status_bytes = taken;
    if (size_bytes > taken) {
        receive->error = OpError::truncated;
    }
    driver.complete(receive);
}

void keep_for_later(Driver& driver, MatchContext& context, const transport::Frame& frame)
{
    void* place = driver.allocator().allocate(sizeof(Unexpected) + frame.payload_bytes);
    if (place == nullptr) {
        no_room_for_messages(driver);
    }
    auto* message = new (place) Unexpected;
    message->header = frame.header;
    message->kind = frame.kind;
    message->payload_bytes = frame.payload_bytes;
    std::memcpy(message->payload(), frame.payload, frame.payload_bytes);
    context.keep(message);
}

void take_message(Driver& driver, const transport::Frame& frame, std::uint32_t /*sender*/)
{
    MatchContext& context = context_of(driver, frame.header.context);
    Op* receive = context.take_posted(frame.header);
    if (receive == nullptr) {
        keep_for_later(driver, context, frame);
    }
    else if (frame.kind == transport::FrameKind::eager) {
        deliver_eager(driver, receive, frame.header, frame.payload, frame.payload_bytes);
    }
    else {
        pull(driver, receive, frame.header, frame.record<Offer>());
    }
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
    node.poller = &move_pipes;
    node.messages.start_send = [](Driver& driver, Op* op) { start_send(driver, op, false); };
    node.messages.start_receive = &start_receive;
}

bool create_rank_part(Driver& driver)
{
    void* place = driver.allocator().allocate(sizeof(RankPart));
    if (place == nullptr) {
        return false;
    }
    driver.rank().protocol = new (place) RankPart;
    return true;
}

void start_send(Driver& driver, Op* op, bool is_synchronous)
{
    if (!is_synchronous && op->size_bytes <= driver.node().knobs.eager_limit) {
        op->frame_kind = transport::FrameKind::eager;
    }
    else {
        const Offer offer{.send = op,
                          .address = op->address,
                          .size_bytes = op->size_bytes,
                          .process = driver.rank().process,
                          .is_in_heap = op->is_in_heap ? 1U : 0U};
        op->frame_kind = transport::FrameKind::request_to_send;
        op->record_bytes = sizeof offer;
        std::memcpy(op->record, &offer, sizeof offer);
    }
    driver.post(op);
}

void start_receive(Driver& driver, Op* op)
{
    MatchContext& context = context_of(driver, op->header.context);
    Unexpected* message = context.find(op->header);
    if (message == nullptr) {
        context.post(op);
        return;
    }
    context.remove(message);
    if (message->kind == transport::FrameKind::eager) {
        deliver_eager(driver, op, message->header, message->payload(), message->payload_bytes);
    }
    else {
        Offer offer;
        std::memcpy(&offer, message->payload(), sizeof offer);
        pull(driver, op, message->header, offer);
    }
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
