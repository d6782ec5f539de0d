// SPDX-License-Identifier: Apache-2.0
#include "protocol/point_to_point.hpp"

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
#include "protocol/distant.hpp"
#include "protocol/kept.hpp"
#include "protocol/offer.hpp"
#include "protocol/quick_receive.hpp"
#include "protocol/rank_part.hpp"
#include "protocol/rendezvous.hpp"

namespace headway::protocol {

using engine::Driver;
using engine::Op;
using engine::OpError;

namespace {

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

bool is_in_other_process(Driver& driver, std::uint32_t peer)
{
    engine::Node& node = driver.node();
    return !node.is_distant(peer) && node.rank_state(peer).process != driver.rank().process;
}

/// A call that returns at once copies no longer message itself: its caller may have other work.
constexpr std::uint64_t whole_bytes_in_passing = 128 * 1024;

/// Of a rank whose call is `sender`.
engine::Sender what_it_does(Driver& driver, engine::Sender sender)
{
    return expects_messages(driver.rank()) ? engine::Sender::exchanges : sender;
}

/// Whether a message that could go whole had better be copied by its receiver alone, who is there,
/// while the caller computes as it did after such a send lately.
bool is_for_receiver_alone(Driver& driver, const engine::RankState& receiver,
                           std::uint64_t size_bytes, engine::Sender sender)
{
    engine::Node& node = driver.node();
    return size_bytes > node.knobs.copy_at_once && !node.is_oversubscribed &&
           node.lane_reading == transport::shm::Reading::measured &&
           what_it_does(driver, sender) == engine::Sender::goes_on &&
           node.peer_memory.can_reach(receiver.process) && driver.rank().send_habit.is_to_offer();
}

/// Whether the message of a send that is about to be offered had better be read whole by its
/// receiver: not one that may be combined as it arrives, nor one whose end says that it has
/// matched, as a receiver that waits for something else takes it in.
bool is_for_reading(Driver& driver, const Op& send, Completion completion)
{
    return completion == Completion::sent && send.in_elements == engine::InElements::no &&
           send.size_bytes <= driver.node().whole_bytes_max &&
           (send.graph == nullptr || send.graph->reduction.kind == data::ElementKind::none) &&
           driver.leaves_for_reading(send.peer, send.size_bytes,
                                     what_it_does(driver, engine::Sender::goes_on));
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
        leave_distant(driver, offer, sender);
        keep_distant(driver, context, frame.header, {offer, sender});
    }
}

/// Posts the receives that were started for later. False: there are none.
bool post_unposted(Driver& driver)
{
    engine::OpList& unposted = part_of(driver.rank()).unposted;
    if (unposted.is_empty()) {
        return false;
    }
    while (!unposted.is_empty()) {
        Op* const op = unposted.first();
        unposted.remove(op);
        start_receive(driver, op);
    }
    return true;
}

/// The protocols' part of a sweep.
int poll(Driver& driver)
{
    return (post_unposted(driver) ? 1 : 0) + move_distant(driver);
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
    if (receive == nullptr && post_unposted(driver)) [[unlikely]] {
        receive = context.take_posted(frame.header);
    }
    if (receive == nullptr && meets_expected(driver, frame)) {
        return;
    }
    if (!is_eager) {
        take_offer(driver, context, frame, sender, receive);
    } else if (receive != nullptr) {
        deliver_eager(driver, receive, frame.header, frame.payload, frame.payload_bytes,
                      frame.is_cached);
    } else {
        keep_eager(driver, context, frame);
    }
}

void offer(Driver& driver, Op* op, Completion completion)
{
    if (op->graph == nullptr) {
        driver.mark_open(op);
    }
    if (driver.node().is_distant(op->peer)) [[unlikely]] {
        offer_to_distant(driver, op, completion);
        return;
    }
    Offer made = offer_of(driver, *op);
    op->copy_job = nullptr;
    if (is_for_reading(driver, *op, completion)) {
        made.reading =
            driver.slot(op->peer).lane->offer_for_reading(transport::shm::Readable::whole);
    } else {
        const transport::shm::ReadingAsked asked = engine::choose_reading(driver, *op, made.source);
        if (asked.kind == transport::shm::Readable::alone) {
            made.reading = asked;
        } else {
            engine::offer_copy(driver, op, made.source, asked);
        }
    }
    op->frame_kind = transport::FrameKind::request_to_send;
    op->record_bytes = sizeof made;
    std::memcpy(op->record, &made, sizeof made);
}

}  // namespace

void deliver_eager(Driver& driver, Op* receive, transport::FrameHeader header,
                   const std::byte* payload, std::uint64_t size_bytes, bool is_cached)
{
    const std::uint64_t taken = note_match(receive, header, size_bytes);
    if (taken != 0 && !driver.write_memory(receive->address, payload, taken, is_cached))
        [[unlikely]] {
        receive->error = OpError::bad_address;
    }
    driver.complete(receive);
}

bool is_about_to_take(Driver& driver, std::uint32_t peer, std::uint64_t size_bytes,
                      engine::Sender sender)
{
    engine::Node& node = driver.node();
    const bool is_kept = sender == engine::Sender::is_kept;
    if (size_bytes > node.whole_bytes_max || (size_bytes > whole_bytes_in_passing && !is_kept) ||
        !is_in_other_process(driver, peer)) {
        return false;
    }
    const engine::RankState& receiver = node.rank_state(peer);
    // Relaxed: see RankState::whole_bytes_max.
    return size_bytes <= receiver.whole_bytes_max.load(std::memory_order_relaxed) &&
           engine::was_inside_lately(node, receiver) &&
           !driver.leaves_for_reading(peer, size_bytes, what_it_does(driver, sender)) &&
           !is_for_receiver_alone(driver, receiver, size_bytes, sender);
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
    node.poller = &poll;
    node.messages.start_send = [](Driver& driver, Op* op) { start_send(driver, op, false); };
    node.messages.start_receive = &start_receive;
    node.messages.receive_at_once = &receive_at_once;
    node.messages.make_offer = [](Driver& driver, Op* op) { offer(driver, op, Completion::sent); };
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
    const bool is_distant = driver.node().is_distant(op->peer);
    if (!is_synchronous &&
        (is_short || (is_plain && is_about_to_take(driver, op->peer, op->size_bytes,
                                                   engine::Sender::goes_on)))) {
        op->frame_kind = transport::FrameKind::eager;
    } else {
        if (is_plain && op->size_bytes <= whole_bytes_in_passing &&
            is_in_other_process(driver, op->peer)) {
            driver.rank().send_habit.note_offered(
                op->size_bytes, driver.writing_ticks(op->peer, op->size_bytes), platform::ticks());
        }
        offer(driver, op, is_synchronous ? Completion::matched : Completion::sent);
    }
    driver.post(op);
    if (is_distant) [[unlikely]] {
        push_offered(driver);
    }
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

void start_receive_later(Driver& driver, Op* op)
{
    part_of(driver.rank()).unposted.push_back(op);
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
