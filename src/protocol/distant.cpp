// SPDX-License-Identifier: Apache-2.0
#include "protocol/distant.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "platform/fatal.hpp"
#include "protocol/rank_part.hpp"
#include "protocol/rendezvous.hpp"

namespace headway::protocol {

using engine::Driver;
using engine::Op;

namespace {

/// Bytes that the network moves without frames: what its answers lead back to.
struct Transfer {
    std::uint32_t under_way = 0;  ///< reads, pushes, takings of one
};

}  // namespace

/// A message on its way to another node: pushed, or in frames that its receiver has asked for.
struct Departure : Transfer {
    Op* send = nullptr;
    std::uint64_t push = 0;  ///< its number; 0: it goes in frames
    Ticket receive = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t total_bytes = 0;
    std::uint32_t peer = 0;
    Departure* next = nullptr;
};

/// A message that comes from another node: read out of its memory, or pushed from there.
struct Arrival : Transfer {
    Op* receive = nullptr;
    DistantOffer offer;
    void* target = nullptr;  ///< what the network gave for the receive's buffer, of this process
    bool is_taken = false;   ///< of a push: the network knows where it goes
    std::uint64_t asked_bytes = 0;
    std::uint64_t total_bytes = 0;
    std::uint32_t sender = 0;
    Arrival* next = nullptr;
};

namespace {

/// What the network answers when one of the transfer's is over.
std::uint64_t cookie_of(Transfer& transfer) noexcept
{
    return reinterpret_cast<std::uintptr_t>(&transfer);
}

/// Of one read.
constexpr std::uint64_t read_bytes_max = 1024 * 1024;

/// Reads of one message under way. Over a connection that carries messages both ways a request
/// waits behind the bytes that its sender is giving meanwhile: with few reads the two ways take
/// turns.
constexpr std::uint32_t reads_a_message = 16;

/// Frames posted with the word in hand before its owner has a chance to get it.
constexpr int frames_a_turn = 8;

[[noreturn]] void no_room(Driver& driver)
{
    platform::fatal(driver.rank().job_rank,
                    "the node heap has no room for a message between nodes; raise "
                    "HEADWAY_HEAP_SIZE, or the size of /dev/shm where the heap is there");
}

/// What no Headway sends.
[[noreturn]] void refuse(Driver& driver, std::uint32_t sender, const char* what)
{
    platform::fatal(driver.rank().job_rank,
                    "rank " + std::to_string(driver.node().job_rank(sender)) + " sent " + what +
                        "; do all hosts have the same Headway, and sound memory?");
}

/// In a frame's header, whose fields do not name a message there.
transport::FrameHeader header_of(Ticket ticket) noexcept
{
    return {.context = static_cast<std::uint32_t>(ticket),
            .sequence = static_cast<std::uint32_t>(ticket >> 32)};
}

Ticket ticket_of(const transport::FrameHeader& header) noexcept
{
    return std::uint64_t{header.sequence} << 32 | header.context;
}

/// Puts a copy of a message behind the others, which go first.
template <typename Message>
Message& add(Driver& driver, Message** list, const Message& message)
{
    void* place = driver.allocator().allocate(sizeof(Message));
    if (place == nullptr) {
        no_room(driver);
    }
    while (*list != nullptr) {
        list = &(*list)->next;
    }
    *list = new (place) Message(message);
    return **list;
}

/// Of what the network says: false: later.
bool is_begun(Driver& driver, base::Status status)
{
    if (status == base::Status::failed) {
        platform::fatal(driver.rank().job_rank, driver.node().network->failure());
    }
    return status == base::Status::done;
}

/// Starts what there is room for; the number of transfers that were started. A message is begun
/// when it is matched: a call that receives what was offered long ago may be followed by no sweep.
int start_transfers(Driver& driver, Arrival& arrival);

void add_arrival(Driver& driver, const Arrival& arrival)
{
    (void)start_transfers(driver, add(driver, &part_of(driver.rank()).arrivals, arrival));
}

/// Whether the message can be read.
bool read_distant(Driver& driver, Op* receive, const DistantOffer& offer, std::uint32_t sender,
                  std::uint64_t bytes)
{
    void* target = nullptr;
    if (!driver.node().network->can_read() ||
        !driver.port()->prepare_target(receive->address, bytes, &target)) {
        return false;
    }
    Arrival arrival;
    arrival.receive = receive;
    arrival.offer = offer;
    arrival.target = target;
    arrival.total_bytes = bytes;
    arrival.sender = sender;
    add_arrival(driver, arrival);
    return true;
}

/// By its receiver's names.
transport::Pushed pushed_in(Driver& driver, const DistantOffer& offer,
                            std::uint32_t sender) noexcept
{
    return {driver.node().job_rank(sender), offer.push, offer.size_bytes};
}

void take_distant(Driver& driver, Op* receive, const DistantOffer& offer, std::uint32_t sender,
                  std::uint64_t bytes)
{
    Arrival arrival;
    arrival.receive = receive;
    arrival.offer = offer;
    arrival.total_bytes = bytes;
    arrival.sender = sender;
    add_arrival(driver, arrival);
}

int start_reads(Driver& driver, Arrival& arrival)
{
    int started = 0;
    while (arrival.asked_bytes < arrival.total_bytes && arrival.under_way < reads_a_message) {
        const std::uint64_t bytes =
            std::min(read_bytes_max, arrival.total_bytes - arrival.asked_bytes);
        if (!is_begun(driver, driver.port()->read(driver.node().job_rank(arrival.sender),
                                                  arrival.offer.exposure, arrival.asked_bytes,
                                                  arrival.receive->address + arrival.asked_bytes,
                                                  bytes, arrival.target, cookie_of(arrival)))) {
            break;
        }
        arrival.asked_bytes += bytes;
        ++arrival.under_way;
        ++started;
    }
    return started;
}

int start_transfers(Driver& driver, Arrival& arrival)
{
    if (arrival.offer.push == 0) {
        return start_reads(driver, arrival);
    }
    if (arrival.is_taken ||
        !is_begun(driver, driver.port()->take_pushed(
                              pushed_in(driver, arrival.offer, arrival.sender),
                              arrival.receive->address, arrival.total_bytes, cookie_of(arrival)))) {
        return 0;
    }
    arrival.is_taken = true;
    ++arrival.under_way;
    return 1;
}

bool is_there(const Arrival& arrival) noexcept
{
    return arrival.under_way == 0 &&
           (arrival.offer.push != 0 ? arrival.is_taken
                                    : arrival.asked_bytes == arrival.total_bytes);
}

/// All bytes are there: where they were read, the sender may have its memory back.
void finish_arrival(Driver& driver, Arrival* arrival)
{
    if (arrival->offer.push == 0) {
        driver.port()->release_target(arrival->target);
        const DistantRequest answer{.send = arrival->offer.send};
        if (!driver.post_record(arrival->sender, transport::FrameKind::distant_request, answer)) {
            no_room(driver);
        }
    }
    Op* const receive = arrival->receive;
    driver.allocator().free(arrival);
    driver.complete(receive);
}

/// Whether the frame of an op has not been posted yet.
bool waits_for_room(Driver& driver, const Op* op)
{
    const Op* waiting = driver.slot(op->peer).waiting.first();
    while (waiting != nullptr && waiting != op) {
        waiting = waiting->next;
    }
    return waiting != nullptr;
}

/// True: all of it has left, and its offer too.
bool push_out(Driver& driver, Departure& departure, int* events)
{
    if (departure.sent_bytes == 0 &&
        is_begun(driver, driver.port()->push({driver.node().job_rank(departure.peer),
                                              departure.push, departure.total_bytes},
                                             departure.send->address, cookie_of(departure)))) {
        departure.sent_bytes = departure.total_bytes;
        ++departure.under_way;
        ++*events;
    }
    return departure.sent_bytes != 0 && departure.under_way == 0 &&
           !waits_for_room(driver, departure.send);
}

/// True: all of it has left.
bool advance(Driver& driver, Departure& departure, int* frames)
{
    if (departure.push != 0) {
        return push_out(driver, departure, frames);
    }
    const std::uint64_t longest = driver.node().network->frame_bytes_max();
    while (departure.sent_bytes < departure.total_bytes && *frames < frames_a_turn) {
        const std::uint64_t bytes = std::min(longest, departure.total_bytes - departure.sent_bytes);
        if (driver.try_post(
                departure.peer, transport::FrameKind::distant_bytes, header_of(departure.receive),
                departure.send->address + departure.sent_bytes, bytes) != base::Status::done) {
            return false;
        }
        departure.sent_bytes += bytes;
        ++*frames;
    }
    return departure.sent_bytes == departure.total_bytes;
}

/// True: the message need not be asked for.
bool push_to_distant(Driver& driver, Op* send, DistantOffer* offer)
{
    if (send->size_bytes <= driver.node().knobs.eager_limit) {
        return false;
    }
    const std::uint32_t receiver = driver.node().job_rank(send->peer);
    if (!driver.node().network->knows(receiver)) {
        driver.node().introduce(receiver);
    }
    offer->push = driver.port()->reserve_push(receiver, send->size_bytes);
    if (offer->push == 0) {
        return false;
    }
    Departure departure;
    departure.send = send;
    departure.push = offer->push;
    departure.total_bytes = send->size_bytes;
    departure.peer = send->peer;
    (void)add(driver, &part_of(driver.rank()).departures, departure);
    return true;
}

/// Where the message can be read, or asked for.
void lay_out_for_distant(Driver& driver, Op* send, DistantOffer* offer)
{
    Tickets& tickets = part_of(driver.rank()).tickets;
    offer->send = tickets.issue(driver.allocator(), send, send->peer, 0);
    if (offer->send == 0) {
        no_room(driver);
    }
    if (send->size_bytes >= driver.node().knobs.network_read_min && send->size_bytes != 0 &&
        driver.node().network->can_read()) {
        tickets.find(offer->send, send->peer)->exposed =
            driver.port()->expose(send->address, send->size_bytes, &offer->exposure);
        if (tickets.find(offer->send, send->peer)->exposed == nullptr) {
            offer->exposure = {};
        }
    }
}

}  // namespace

void offer_to_distant(Driver& driver, Op* send, Completion completion)
{
    DistantOffer offer;
    offer.size_bytes = send->size_bytes;
    if (completion == Completion::matched || !push_to_distant(driver, send, &offer)) {
        lay_out_for_distant(driver, send, &offer);
    }
    send->frame_kind = transport::FrameKind::distant_offer;
    send->record_bytes = sizeof offer;
    std::memcpy(send->record, &offer, sizeof offer);
}

DistantOffer read_offer(Driver& driver, const transport::Frame& frame)
{
    if (frame.payload_bytes != sizeof(DistantOffer)) {
        platform::fatal(driver.rank().job_rank,
                        "an offer of a message from another node is not whole; do all hosts have "
                        "the same Headway?");
    }
    return frame.record<DistantOffer>();
}

void leave_distant(Driver& driver, const DistantOffer& offer, std::uint32_t sender)
{
    if (offer.push != 0) {
        driver.port()->leave_pushed(pushed_in(driver, offer, sender));
    }
}

void pull_distant(Driver& driver, Op* receive, const transport::FrameHeader& header,
                  const DistantOffer& offer, std::uint32_t sender)
{
    const std::uint64_t bytes = note_match(receive, header, offer.size_bytes);
    if (offer.push != 0) {
        keep_open(driver, receive);
        take_distant(driver, receive, offer, sender, bytes);
        return;
    }
    if (bytes != 0 && offer.exposure.key != transport::Exposure::no_key &&
        read_distant(driver, receive, offer, sender, bytes)) {
        keep_open(driver, receive);
        return;
    }
    DistantRequest request{.send = offer.send, .bytes = bytes};
    if (bytes != 0) {
        keep_open(driver, receive);
        request.receive =
            part_of(driver.rank()).tickets.issue(driver.allocator(), receive, sender, bytes);
        if (request.receive == 0) {
            no_room(driver);
        }
    }
    if (!driver.post_record(sender, transport::FrameKind::distant_request, request)) {
        no_room(driver);
    }
    if (bytes == 0) {
        driver.complete(receive);
    }
}

void take_request(Driver& driver, const transport::Frame& frame, std::uint32_t sender)
{
    if (frame.payload_bytes != sizeof(DistantRequest)) {
        refuse(driver, sender, "a request for a message that is not whole");
    }
    const auto wanted = frame.record<DistantRequest>();
    Tickets& tickets = part_of(driver.rank()).tickets;
    const Tickets::Entry* const entry = tickets.find(wanted.send, sender);
    if (entry == nullptr || entry->op->kind != engine::OpKind::send ||
        wanted.bytes > entry->op->size_bytes) {
        refuse(driver, sender, "a request for a message that was not offered");
    }
    Op* const send = entry->op;
    driver.port()->conceal(entry->exposed);
    tickets.cancel(wanted.send);
    if (wanted.bytes == 0) {
        driver.complete(send);
        return;
    }
    Departure departure;
    departure.send = send;
    departure.receive = wanted.receive;
    departure.total_bytes = wanted.bytes;
    departure.peer = sender;
    (void)add(driver, &part_of(driver.rank()).departures, departure);
}

void take_bytes(Driver& driver, const transport::Frame& frame, std::uint32_t sender)
{
    const Ticket ticket = ticket_of(frame.header);
    Tickets& tickets = part_of(driver.rank()).tickets;
    Tickets::Entry* const entry = tickets.find(ticket, sender);
    if (entry == nullptr || entry->op->kind != engine::OpKind::receive ||
        frame.payload_bytes > entry->bytes_left) {
        refuse(driver, sender, "bytes of a message that nobody has asked for");
    }
    Op* const receive = entry->op;
    std::memcpy(receive->address + (receive->status_bytes - entry->bytes_left), frame.payload,
                frame.payload_bytes);
    entry->bytes_left -= frame.payload_bytes;
    if (entry->bytes_left == 0) {
        tickets.cancel(ticket);
        driver.complete(receive);
    }
}

namespace {

/// The number of transfers that the network says are over.
int note_ended_transfers(Driver& driver)
{
    int ended = 0;
    std::uint64_t cookie = 0;
    while (driver.port()->poll_transfer(cookie)) {
        --reinterpret_cast<Transfer*>(cookie)->under_way;
        ++ended;
    }
    return ended;
}

/// Sends what there is room for, up to a turn's frames; the number of frames and pushes.
int move_departures(Driver& driver)
{
    int frames = 0;
    for (Departure** link = &part_of(driver.rank()).departures; *link != nullptr;) {
        Departure* const departure = *link;
        if (!advance(driver, *departure, &frames)) {
            // Nobody tells of room that was there all the time.
            driver.rank().has_left_frames |= departure->push == 0 && frames >= frames_a_turn;
            link = &departure->next;
            continue;
        }
        *link = departure->next;
        Op* const send = departure->send;
        driver.allocator().free(departure);
        driver.complete(send);
    }
    return frames;
}

/// Starts transfers there is room for, and ends messages that are there; the number of both.
int move_arrivals(Driver& driver)
{
    int events = 0;
    for (Arrival** link = &part_of(driver.rank()).arrivals; *link != nullptr;) {
        Arrival* const arrival = *link;
        events += start_transfers(driver, *arrival);
        if (!is_there(*arrival)) {
            link = &arrival->next;
            continue;
        }
        *link = arrival->next;
        finish_arrival(driver, arrival);
        ++events;
    }
    return events;
}

}  // namespace

void push_offered(Driver& driver)
{
    if (part_of(driver.rank()).departures == nullptr || move_departures(driver) == 0) {
        return;
    }
    // What the system has taken at once is over: nobody need look after it while the rank computes.
    (void)driver.settle_network();
    if (note_ended_transfers(driver) != 0) {
        (void)move_departures(driver);
    }
}

int move_distant(Driver& driver)
{
    if (!part_of(driver.rank()).has_distant()) {
        return 0;
    }
    return note_ended_transfers(driver) + move_departures(driver) + move_arrivals(driver);
}

}  // namespace headway::protocol
