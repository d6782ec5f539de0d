// SPDX-License-Identifier: Apache-2.0
#include "protocol/point_to_point.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/copy_bytes.hpp"
#include "engine/copy_job.hpp"
#include "engine/copy_ways.hpp"
#include "engine/graph_instance.hpp"
#include "engine/observation.hpp"
#include "engine/post.hpp"
#include "engine/staged_pieces.hpp"
#include "platform/cpu.hpp"
#include "platform/line_transfer.hpp"
#include "protocol/distant.hpp"
#include "protocol/kept.hpp"
#include "protocol/looking.hpp"
#include "protocol/offer.hpp"
#include "protocol/quick_receive.hpp"
#include "protocol/rank_part.hpp"
#include "protocol/rendezvous.hpp"

namespace headway::protocol {

using engine::Driver;
using engine::Op;
using engine::OpError;

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
    for (int looks = 0; looks < looks_at_a_step; ++looks) {
        const std::uint32_t from = receive.early_bytes;
        if (frame.early_bytes > from) {
            std::memcpy(receive.address + from, frame.payload + from, frame.early_bytes - from);
            receive.early_bytes = frame.early_bytes;
            looks = 0;
        }
        if (!lane.peek_early(frame)) {
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

/// Reads a message that was offered for that to a receive without an op. False: it is none of
/// those, or too long, or cannot be read.
bool read_quickly(Driver& driver, engine::QuickReceive& receive,
                  const transport::FrameHeader& header, const Offer& offer)
{
    if (offer.reading.number == 0 || offer.size_bytes > receive.size_bytes ||
        read_whole(driver, receive.address, offer, offer.size_bytes) !=
            transport::CopyOutcome::done) {
        return false;
    }
    receive.status_source = header.source;
    receive.status_tag = header.tag;
    receive.status_bytes = offer.size_bytes;
    receive.is_done = true;
    return true;
}

/// Whether the driver's thread looks for this message itself. From then on it looks for no more.
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
           deliver_quickly(*expected, frame.header, frame.payload, frame.payload_bytes);
}

/// Of a send of this rank, in its record from then on.
Offer offer_of(Driver& driver, Op& send) noexcept
{
    const bool is_in_heap = driver.node().heap->contains(send.address);
    return {
        .send = &send,
        .source = {send.address, is_in_heap ? transport::Place::everywhere : send.owner->process},
        .size_bytes = send.size_bytes,
        .reading = {}};
}

/// Of a send of any rank that has made it.
Offer offer_in(const Op& send) noexcept
{
    Offer offer;
    std::memcpy(&offer, send.record, sizeof offer);
    return offer;
}

/// Whether the message of a send that is about to be offered had better be read whole by its
/// receiver: not one that may be combined as it arrives.
bool is_for_reading(Driver& driver, const Op& send)
{
    engine::Node& node = driver.node();
    const engine::RankState& receiver = node.rank_state(send.peer);
    return send.in_elements == engine::InElements::no && send.size_bytes <= node.whole_bytes_max &&
           receiver.process != driver.rank().process &&
           (send.graph == nullptr || send.graph->reduction.kind == data::ElementKind::none) &&
           driver.leaves_for_reading(send.peer, send.size_bytes, engine::Sender::goes_on);
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

std::uint64_t bytes_named(transport::FrameKind kind, const void* payload, std::size_t payload_bytes)
{
    if (kind == transport::FrameKind::distant_offer && payload_bytes == sizeof(DistantOffer)) {
        DistantOffer offer;
        std::memcpy(&offer, payload, sizeof offer);
        return offer.size_bytes;
    }
    if (kind == transport::FrameKind::eager || kind == transport::FrameKind::given_up) {
        return payload_bytes;
    }
    if (kind != transport::FrameKind::request_to_send) {
        return engine::no_message;
    }
    Offer offer;
    std::memcpy(&offer, payload, sizeof offer);
    return offer.size_bytes;
}

/// The message of a collective that a receive waits for does not come. Where it was to bring
/// nothing, all that it says is that its sender has got so far.
void give_up(Driver& driver, Op* receive, transport::FrameHeader header)
{
    (void)note_match(receive, header, 0);
    if (receive->size_bytes != 0) {
        receive->error = OpError::given_up;
    }
    driver.complete(receive);
}

void take_given_up(Driver& driver, MatchContext& context, const transport::Frame& frame,
                   Op* receive)
{
    if (receive != nullptr) {
        give_up(driver, receive, frame.header);
        return;
    }
    keep_given_up(driver, context, frame.header);
}

/// A message of more bytes than travel unasked, or one that is given up; `receive` is null where
/// none was posted.
void take_offer(Driver& driver, MatchContext& context, const transport::Frame& frame,
                std::uint32_t sender, Op* receive)
{
    if (frame.kind == transport::FrameKind::given_up) {
        take_given_up(driver, context, frame, receive);
        return;
    }
    if (frame.kind == transport::FrameKind::request_to_send) {
        const auto offer = frame.record<Offer>();
        if (receive != nullptr) {
            pull(driver, receive, frame.header, offer);
        } else if (!driver.is_waiting() || !may_read_now(driver, offer) ||
                   !take_in(driver, context, frame.header, offer)) {
            keep_offer(driver, context, frame.header, offer);
        }
        return;
    }
    const DistantOffer offer = read_offer(driver, frame);
    if (receive != nullptr) {
        pull_distant(driver, receive, frame.header, offer, sender);
    } else {
        keep_distant(driver, context, frame.header, {offer, sender});
    }
}

void take_message(Driver& driver, const transport::Frame& frame, std::uint32_t sender)
{
    MatchContext& context = context_of(driver, frame.header.context);
    Op* receive = context.take_posted(frame.header);
    const bool is_eager = frame.kind == transport::FrameKind::eager;
    if (driver.tracer() != nullptr) [[unlikely]] {
        record_received(driver, sender, frame.header,
                        bytes_named(frame.kind, frame.payload, frame.payload_bytes));
    }
    if (receive == nullptr && meets_expected(driver, frame)) {
        return;
    }
    if (!is_eager) {
        take_offer(driver, context, frame, sender, receive);
    } else if (receive != nullptr) {
        deliver_eager(driver, receive, frame.header, frame.payload, frame.payload_bytes);
    } else {
        keep_eager(driver, context, frame);
    }
}

void make_offer(Driver& driver, Op* op)
{
    if (op->graph == nullptr) {
        driver.mark_open(op);
    }
    if (driver.node().is_distant(op->peer)) [[unlikely]] {
        offer_to_distant(driver, op);
        return;
    }
    Offer offer = offer_of(driver, *op);
    op->copy_job = nullptr;
    if (is_for_reading(driver, *op)) {
        offer.reading =
            driver.slot(op->peer).lane->offer_for_reading(transport::shm::Readable::whole);
    } else {
        const transport::shm::ReadingAsked asked =
            engine::choose_reading(driver, *op, offer.source);
        if (asked.kind == transport::shm::Readable::alone) {
            offer.reading = asked;
        } else {
            engine::offer_copy(driver, op, offer.source, asked);
        }
    }
    op->frame_kind = transport::FrameKind::request_to_send;
    op->record_bytes = sizeof offer;
    std::memcpy(op->record, &offer, sizeof offer);
}

}  // namespace

void deliver_eager(Driver& driver, Op* receive, transport::FrameHeader header,
                   const std::byte* payload, std::uint64_t size_bytes)
{
    const std::uint64_t taken = note_match(receive, header, size_bytes);
    if (taken != 0 && !driver.write_memory(receive->address, payload, taken)) [[unlikely]] {
        receive->error = OpError::bad_address;
    }
    driver.complete(receive);
}

bool is_about_to_take(Driver& driver, std::uint32_t peer, std::uint64_t size_bytes,
                      engine::Sender sender)
{
    engine::Node& node = driver.node();
    if (size_bytes > node.whole_bytes_max || node.is_distant(peer)) {
        return false;
    }
    const engine::RankState& receiver = node.rank_state(peer);
    // Relaxed: see RankState::whole_bytes_max.
    return receiver.process != driver.rank().process &&
           size_bytes <= receiver.whole_bytes_max.load(std::memory_order_relaxed) &&
           engine::was_inside_lately(node, receiver) &&
           !driver.leaves_for_reading(
               peer, size_bytes,
               expects_messages(driver.rank()) ? engine::Sender::goes_on : sender);
}

void register_protocols(engine::Node& node)
{
    const auto set = [&](transport::FrameKind kind, engine::FrameHandler handler) {
        node.handlers[static_cast<std::size_t>(kind)] = handler;
    };
    set(transport::FrameKind::eager, &take_message);
    set(transport::FrameKind::request_to_send, &take_message);
    set(transport::FrameKind::clear_to_send, &take_clear_to_send);
    set(transport::FrameKind::delivered, &take_delivered);
    set(transport::FrameKind::piece, &engine::take_piece);
    set(transport::FrameKind::given_up, &take_message);
    set(transport::FrameKind::distant_offer, &take_message);
    set(transport::FrameKind::distant_request, &take_request);
    set(transport::FrameKind::distant_bytes, &take_bytes);
    node.poller = &move_distant;
    node.messages.start_send = [](Driver& driver, Op* op) { start_send(driver, op, false); };
    node.messages.start_receive = &start_receive;
    node.messages.receive_at_once = &receive_at_once;
    node.messages.make_offer = &make_offer;
    node.messages.withdraw_receives = &withdraw_receives;
    node.messages.post_answer = &post_answer;
    node.messages.bytes_named = &bytes_named;
}

bool carries_elements(Driver& driver) noexcept
{
    return !driver.node().schedule.withholds() && driver.node().network == nullptr;
}

bool create_rank_part(Driver& driver)
{
    void* place = driver.allocator().allocate(sizeof(RankPart));
    if (place == nullptr) {
        return false;
    }
    const bool has_bins = driver.node().knobs.matching == config::MatchingChoice::bins;
    driver.rank().protocol = new (place) RankPart(MatchTable(driver.rank().counters, has_bins));
    count_unexpected(driver, 0);  // a limit of 0 is reached from the start
    return true;
}

void start_send(Driver& driver, Op* op, bool is_synchronous)
{
    const bool is_short = op->size_bytes <= driver.node().knobs.eager_limit;
    // What arrives for a graph may be combined on its way, which frames are not.
    const bool is_plain = op->in_elements == engine::InElements::no && op->graph == nullptr;
    if (!is_synchronous &&
        (is_short || (is_plain && is_about_to_take(driver, op->peer, op->size_bytes,
                                                   engine::Sender::goes_on)))) {
        op->frame_kind = transport::FrameKind::eager;
    } else {
        make_offer(driver, op);
    }
    driver.post(op);
}

MatchContext& find_context(Driver& driver, std::uint32_t id)
{
    MatchContext* const context = part_of(driver.rank()).match.context(driver.allocator(), id);
    if (context == nullptr) {
        no_room_for_messages(driver);
    }
    return *context;
}

bool send_at_once(Driver& driver, std::uint32_t peer, transport::FrameHeader header,
                  const void* address, std::uint64_t size_bytes, engine::Sender sender)
{
    return goes_whole(driver, peer, size_bytes, sender) &&
           driver.try_post_whole(peer, header, address, size_bytes);
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

void start_receive(Driver& driver, Op* op)
{
    MatchContext& context = context_of(driver, op->header.context);
    Unexpected* message = context.find(op->header);
    if (message == nullptr) {
        if (op->size_bytes > driver.node().knobs.eager_limit && op->graph == nullptr &&
            !op->is_open) {
            driver.mark_open(op);
        }
        context.post(op);
        context.make_room(driver.allocator());
        return;
    }
    context.remove(message);
    start_matched_receive(driver, op, message);
}

void look_for_posted(Driver& driver, Op* op)
{
    if (op->word.is_complete() || op->kind != engine::OpKind::receive ||
        op->peer == engine::any_peer || op->peer == driver.rank().rank ||
        driver.node().is_distant(op->peer) || !may_look_alone(driver)) {
        return;
    }
    MatchContext& context = context_of(driver, op->header.context);
    if (!context.take_back_alone(op)) {
        return;
    }
    engine::QuickReceive receive{
        .wanted = op->header, .address = op->address, .size_bytes = op->size_bytes};
    if (receive_at_once(driver, receive, op->peer)) {
        complete_taken(driver, op, receive);
    } else {
        start_receive(driver, op);
    }
}

void take(Driver& driver, Unexpected* message)
{
    context_of(driver, message->header.context).remove(message);
}

void start_matched_receive(Driver& driver, Op* op, Unexpected* message)
{
    if (driver.tracer() != nullptr) [[unlikely]] {
        engine::record_matched_late(driver, message->header, message->message_bytes);
    }
    if (message->kept_as == engine::KeptAs::given_up) {
        give_up(driver, op, message->header);
        forget_kept(driver, message);
        return;
    }
    if (message->kept_as == engine::KeptAs::distant_offer) {
        KeptOffer kept;
        std::memcpy(&kept, message->payload(), sizeof kept);
        pull_distant(driver, op, message->header, kept.offer, kept.sender);
        forget_kept(driver, message);
        return;
    }
    if (message->offered != nullptr) {
        // A part of the sender's op, which may be gone when pull returns.
        const transport::FrameHeader header = message->header;
        pull(driver, op, header, offer_in(*message->offered));
        return;
    }
    deliver_eager(driver, op, message->header, message->payload(), message->message_bytes);
    forget_kept(driver, message);
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

std::uint32_t withdraw_receives(Driver& driver, std::uint32_t context,
                                const engine::GraphInstance* run)
{
    return context_of(driver, context).withdraw(run);
}

bool is_quiet(engine::RankState& rank)
{
    const RankPart& part = part_of(rank);
    return rank.peers_waiting == nullptr && !part.has_distant();
}

bool is_unused(Driver& driver, std::uint32_t context)
{
    return context_of(driver, context).is_empty();
}

void forget_context(Driver& driver, std::uint32_t context)
{
    part_of(driver.rank()).match.forget(driver.allocator(), context);
}

Unexpected* probe(Driver& driver, const transport::FrameHeader& wanted)
{
    return context_of(driver, wanted.context).find(wanted);
}

}  // namespace headway::protocol
