// SPDX-License-Identifier: Apache-2.0
#include "protocol/rendezvous.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "engine/copy_bytes.hpp"
#include "engine/copy_job.hpp"
#include "platform/cpu.hpp"
#include "protocol/distant.hpp"
#include "protocol/rank_part.hpp"

namespace headway::protocol {

using engine::Driver;
using engine::Op;
using engine::OpError;

namespace {

void complete_both(Driver& driver, Op* receive, Op* send, OpError error)
{
    if (error != OpError::none) {
        receive->error = error;
        send->error = error;
    }
    driver.complete(receive);
    driver.complete(send);
}

/// Nobody knows yet who will ask for the result, so the receive counts as open from here.
bool share(Driver& driver, Op* receive, const Offer& offer, std::uint64_t bytes)
{
    keep_open(driver, receive);
    return engine::start_copy(driver, receive, offer.send, offer.source,
                              driver.place_of(receive->address), bytes, offer.reading.kind);
}

/// Of a message that this thread cannot copy.
void share_or_fail(Driver& driver, Op* receive, const Offer& offer, std::uint64_t bytes)
{
    if (!share(driver, receive, offer, bytes)) {
        complete_both(driver, receive, offer.send, OpError::no_memory);
    }
}

void copy_whole(Driver& driver, Op* receive, const Offer& offer, std::uint64_t bytes)
{
    switch (read_whole(driver, receive->address, offer, bytes)) {
        case transport::CopyOutcome::done:
            complete_both(driver, receive, offer.send, OpError::none);
            break;
        case transport::CopyOutcome::bad_address:
            complete_both(driver, receive, offer.send, OpError::bad_address);
            break;
        case transport::CopyOutcome::unreachable:
            share_or_fail(driver, receive, offer, bytes);
            break;
    }
}

/// The receive completes when the sender says that the bytes are there.
void ask_for_bytes(Driver& driver, Op* receive, const Offer& offer, std::uint64_t bytes)
{
    keep_open(driver, receive);
    const ClearToSend answer{offer.send, receive, driver.place_of(receive->address), bytes};
    if (!driver.post_record(offer.send->owner->rank, transport::FrameKind::clear_to_send, answer)) {
        complete_both(driver, receive, offer.send, OpError::no_memory);
    }
}

/// A frame for the receiver of `send`, posted when the op made here completes: it stands for the
/// receive in the copy job. Null: the node heap is exhausted.
Op* make_delivered(Driver& driver, const ClearToSend& asked)
{
    Op* op = driver.create_op(engine::OpKind::control);
    if (op == nullptr) {
        return nullptr;
    }
    op->peer = asked.receive->owner->rank;
    op->frame_kind = transport::FrameKind::delivered;
    const Delivered record{.receive = asked.receive};
    op->record_bytes = sizeof record;
    std::memcpy(op->record, &record, sizeof record);
    driver.mark_open(op);
    // The word cannot be complete: nobody knows the op yet.
    (void)op->hang_trigger();
    return op;
}

}  // namespace

transport::CopyOutcome read_whole(Driver& driver, std::byte* address, const Offer& offer,
                                  std::uint64_t bytes)
{
    const transport::Place target = driver.place_of(address);
    transport::shm::ReadingTicks ticks;
    const transport::CopyOutcome outcome = engine::copy_measured(
        driver.node(), target, offer.source, bytes, offer.reading.is_checked, &ticks);
    if (outcome != transport::CopyOutcome::done) {
        return outcome;
    }
    engine::RankState& rank = driver.rank();
    if (offer.source.process != target.process) {
        // Relaxed: a statistic.
        rank.counters.bytes_copied_across.fetch_add(bytes, std::memory_order_relaxed);
    }
    if (offer.reading.number != 0) {
        transport::shm::Lane* const lane = driver.lane_from(offer.send->owner->rank);
        if (lane != nullptr) {
            lane->tell_reading(offer.reading.kind, transport::shm::ReadingChoice::told(
                                                       offer.reading.number, bytes, ticks));
        }
    }
    return outcome;
}

void keep_open(Driver& driver, Op* receive)
{
    if (!receive->is_open && receive->graph == nullptr) {
        driver.mark_open(receive);
    }
}

void take_clear_to_send(Driver& driver, const transport::Frame& frame, std::uint32_t /*sender*/)
{
    const auto asked = frame.record<ClearToSend>();
    Op* const delivered = make_delivered(driver, asked);
    if (delivered == nullptr) {
        complete_both(driver, asked.receive, asked.send, OpError::no_memory);
        return;
    }
    const transport::Place source = driver.place_of(asked.send->address);
    if (asked.bytes == 0) {
        complete_both(driver, delivered, asked.send, OpError::none);
    } else if (!engine::start_copy(driver, delivered, asked.send, source, asked.target, asked.bytes,
                                   transport::shm::Readable::whole)) {
        complete_both(driver, delivered, asked.send, OpError::no_memory);
    }
}

void post_answer(Driver& driver, Op* delivered)
{
    auto* const record = reinterpret_cast<Delivered*>(delivered->record);
    record->error = delivered->error;
    driver.post(delivered);
}

void take_delivered(Driver& driver, const transport::Frame& frame, std::uint32_t /*sender*/)
{
    const auto said = frame.record<Delivered>();
    if (said.error != OpError::none) {
        said.receive->error = said.error;
    }
    driver.complete(said.receive);
}

void pull(Driver& driver, Op* receive, const transport::FrameHeader& header, const Offer& offer)
{
    const std::uint64_t bytes = note_match(receive, header, offer.size_bytes);
    if (driver.node().schedule.withholds() && offer.send->owner != &driver.rank() &&
        driver.node().peer_memory.can_reach(offer.source.process)) {
        ask_for_bytes(driver, receive, offer, bytes);
        return;
    }
    const bool is_begun = offer.send->copy_job != nullptr;
    if (bytes == 0 && !is_begun) {
        complete_both(driver, receive, offer.send, OpError::none);
        return;
    }
    const bool is_plain = !is_begun && offer.send->in_elements == engine::InElements::no &&
                          receive->in_elements == engine::InElements::no;
    if (!is_plain || !driver.node().peer_memory.can_reach(offer.source.process)) {
        share_or_fail(driver, receive, offer, bytes);
    } else if (bytes <= driver.node().knobs.copy_at_once || may_read_now(driver, offer) ||
               !share(driver, receive, offer, bytes)) {
        copy_whole(driver, receive, offer, bytes);
    }
}

}  // namespace headway::protocol
