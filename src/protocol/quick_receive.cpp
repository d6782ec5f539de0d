// SPDX-License-Identifier: Apache-2.0
#include "protocol/quick_receive.hpp"

#include "engine/post.hpp"
#include "platform/cpu.hpp"
#include "platform/line_transfer.hpp"
#include "protocol/kept.hpp"
#include "protocol/looking.hpp"
#include "protocol/offer.hpp"
#include "protocol/point_to_point.hpp"
#include "protocol/rendezvous.hpp"

namespace headway::protocol {

using engine::Driver;
using engine::Op;

namespace {

/// Polls of a receive before it becomes an op and its thread waits as for any other: as long as a
/// peer takes to answer with the longest frame, and some more, since only here is a frame copied
/// while it is being written. Slow cores took longer than 200.
constexpr int polls_without_op = 1000;

/// Looks at the one lane that a message comes by for each look at all of them.
constexpr int looks_at_a_lane = 4;

/// Looks at a frame that is being written without a step of it before one does something else.
constexpr int looks_at_a_step = 50;

/// Takes what is there of a message that its sender is still writing, and goes on while it writes.
/// The next frame of that sender is this one, so it is the one to take where no posted receive
/// takes it.
void copy_early(engine::QuickReceive& receive, MatchContext& context, transport::shm::Lane& lane)
{
    transport::shm::EarlyFrame frame;
    if (!lane.peek_early(frame) || frame.header.context != receive.wanted.context ||
        !fits(receive.wanted, frame.header) || frame.payload_bytes > receive.size_bytes ||
        !context.has_none_posted(frame.header)) {
        return;
    }
    if (frame.early_bytes == 0) {
        platform::fetch_lines(frame.payload, frame.payload_bytes);
    }
    const std::uint32_t begin = receive.early_bytes;
    transport::shm::EarlyWay way;
    for (int looks = 0; looks < looks_at_a_step; ++looks) {
        const std::uint32_t from = receive.early_bytes;
        if (frame.early_bytes > from) {
            if (from == begin && receive.elements == nullptr) {  // elements are unpacked
                way = lane.early_choice.next(frame);
            }
            put(receive, from, frame.early_bytes, frame.payload + from, way.asks_ahead);
            receive.early_bytes = frame.early_bytes;
            looks = 0;
        }
        if (!lane.peek_early(frame)) {
            lane.early_choice.note(way, receive.early_bytes - begin);
            return;
        }
    }
}

/// Looks at the lane of a message that is about to come, some times between two sweeps over all
/// lanes. True: it is here.
bool look_at(Driver& driver, engine::QuickReceive& receive, MatchContext& context,
             transport::shm::Lane& lane)
{
    for (int look = 0; look < looks_at_a_lane; ++look) {
        if (take_oldest(driver, receive, context, lane)) {
            return true;
        }
    }
    return false;
}

/// While it lives, senders of long messages see that the rank looks for one.
class LongLook {
  public:
    LongLook(Driver& driver, std::uint64_t bytes_max)
        : rank_(bytes_max > driver.node().knobs.eager_limit ? &driver.rank() : nullptr)
    {
        if (rank_ != nullptr) {
            rank_->is_looking.store(1, std::memory_order_relaxed);  // relaxed: a hint
        }
    }
    ~LongLook()
    {
        if (rank_ != nullptr) {
            // Relaxed: likewise.
            rank_->left_at.store(platform::ticks(), std::memory_order_relaxed);
            rank_->is_looking.store(0, std::memory_order_relaxed);
        }
    }
    LongLook(const LongLook&) = delete;
    LongLook& operator=(const LongLook&) = delete;

  private:
    engine::RankState* rank_;
};

/// Polls until the message is there, or is not one for a receive without an op, or there is other
/// work, or it takes long.
void poll_for(Driver& driver, engine::QuickReceive& receive, MatchContext& context,
              std::uint32_t sender)
{
    const engine::Node& node = driver.node();
    transport::shm::Lane* const lane = sender != any_sender ? driver.lane_from(sender) : nullptr;
    const bool may_come_in_steps = receive.size_bytes > transport::inline_bytes_max;
    RankPart& part = part_of(driver.rank());
    // Among few ranks of a worker the next one to run is the sender.
    const bool lets_others_run = node.shares_workers && node.knobs.yields != 0;
    const Looking looking(driver, receive, sender);
    int polls = node.is_oversubscribed ? looking.polls() : polls_without_op;
    if (lets_others_run) {
        polls = 2;
    }
    if (sender == driver.rank().rank && driver.lock().is_shared()) {
        polls = 1;  // another thread is to send: not while this one has the lock
    }
    int poll = 0;
    const engine::WaitMark mark(driver);
    const LongLook look(driver, receive.size_bytes);
    driver.expect(&receive);
    for (; poll < polls; ++poll) {
        if (poll != 0 && lets_others_run) {
            platform::yield_core();
        }
        if (lane != nullptr && look_at(driver, receive, context, *lane)) {
            break;
        }
        driver.poll_frames();
        // Once the message is there, the next frame is not for this buffer.
        if (driver.expected() == nullptr || !driver.has_only_frames() || part.has_distant()) {
            break;
        }
        if (lane != nullptr && may_come_in_steps) {
            copy_early(receive, context, *lane);
        }
        if (driver.lock().is_wanted()) {
            break;  // another thread of the rank: the wait of an op lets it in
        }
        if (poll % looks_at_a_lane == 0 && !looking.may_come()) {
            break;
        }
    }
    (void)looking.end(poll, receive.is_done || driver.expected() == nullptr);
    driver.expect(nullptr);
}

/// Whether all that the rank needs to do is to look for one message, so that a posted receive may
/// stand back for as long: no long message of it is under way, and no other thread of it is there.
bool may_look_alone(Driver& driver)
{
    const engine::RankState& rank = driver.rank();
    return driver.node().is_plain && !driver.node().is_oversubscribed &&
           driver.tracer() == nullptr && !driver.lock().is_shared() && driver.has_only_frames() &&
           rank.invited.is_empty() && rank.offered.is_empty();
}

/// Takes a started receive back to look for its message. False: it has been matched, or others may
/// come first.
bool take_back(Driver& driver, MatchContext& context, Op* receive)
{
    engine::OpList& unposted = part_of(driver.rank()).unposted;
    for (Op* op = unposted.first(); op != nullptr; op = op->next) {
        if (op == receive) {
            unposted.remove(op);
            return true;
        }
    }
    return context.take_back_alone(receive);
}

/// Reads a message that was offered for that to a receive without an op. False: it is none of
/// those, or too long, or cannot be read.
bool read_quickly(Driver& driver, engine::QuickReceive& receive,
                  const transport::FrameHeader& header, const Offer& offer)
{
    if (offer.reading.number == 0 || offer.size_bytes > receive.size_bytes ||
        receive.elements != nullptr ||
        read_whole(driver, receive.address, offer, offer.size_bytes) !=
            transport::CopyOutcome::done) {
        return false;
    }
    receive.matched = header;
    receive.status_bytes = offer.size_bytes;
    receive.is_done = true;
    return true;
}

/// An offer that was kept, for a receive without an op. False: nothing happened.
bool receive_offered(Driver& driver, engine::QuickReceive& receive, MatchContext& context,
                     Unexpected* message)
{
    const Offer offer = offer_in(*message->offered);
    if (!read_quickly(driver, receive, message->header, offer)) {
        return false;
    }
    context.remove(message);
    driver.complete(offer.send);
    return true;
}

}  // namespace

bool meets_expected(Driver& driver, const transport::Frame& frame)
{
    engine::QuickReceive* const expected = driver.expected();
    if (expected == nullptr || expected->wanted.context != frame.header.context ||
        !fits(expected->wanted, frame.header)) {
        return false;
    }
    driver.expect(nullptr);
    if (frame.kind == transport::FrameKind::request_to_send) {
        const auto offer = frame.record<Offer>();
        if (!read_quickly(driver, *expected, frame.header, offer)) {
            return false;
        }
        driver.complete(offer.send);
        return true;
    }
    return frame.kind == transport::FrameKind::eager &&
           deliver_quickly(*expected, frame.header, frame.payload, frame.payload_bytes,
                           frame.is_cached);
}

bool receive_at_once(Driver& driver, engine::QuickReceive& receive, std::uint32_t sender)
{
    if (driver.tracer() != nullptr) [[unlikely]] {
        return false;  // a trace names messages by their ops
    }
    MatchContext& context = context_of(driver, receive.wanted.context);
    Unexpected* const message = context.find(receive.wanted);
    if (message != nullptr && message->offered != nullptr) {
        return receive_offered(driver, receive, context, message);
    }
    if (message != nullptr) {
        if (message->kept_as != engine::KeptAs::message ||
            !deliver_quickly(receive, message->header, message->payload(),
                             message->message_bytes)) {
            return false;
        }
        context.remove(message);
        forget_kept(driver, message);
        return true;
    }
    poll_for(driver, receive, context, sender);
    return receive.is_done;
}

void look_for_posted(Driver& driver, Op* op)
{
    if (op->word.is_complete() || op->kind != engine::OpKind::receive ||
        op->peer == engine::any_peer || op->peer == driver.rank().rank ||
        driver.node().is_distant(op->peer) || !may_look_alone(driver)) {
        return;
    }
    MatchContext& context = context_of(driver, op->header.context);
    if (!take_back(driver, context, op)) {
        return;
    }
    const bool has_elements = op->in_elements == engine::InElements::possible;
    engine::QuickReceive receive{.wanted = op->header,
                                 .address = op->address,
                                 .size_bytes = op->size_bytes,
                                 .elements = has_elements ? op->elements : nullptr};
    if (receive_at_once(driver, receive, op->peer)) {
        if (has_elements) {
            op->in_elements = engine::InElements::yes;
        }
        complete_taken(driver, op, receive);
    } else {
        start_receive(driver, op);
    }
}

}  // namespace headway::protocol
