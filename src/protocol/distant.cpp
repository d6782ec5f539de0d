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

/// A message on its way to another node.
struct Departure {
    Op* send = nullptr;
    Ticket receive = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t total_bytes = 0;
    std::uint32_t peer = 0;
    Departure* next = nullptr;
};

/// A message that is read out of another node's memory.
struct Arrival {
    Op* receive = nullptr;
    DistantOffer offer;
    void* target = nullptr;  ///< what the network gave for the receive's buffer, of this process
    std::uint64_t asked_bytes = 0;
    std::uint64_t total_bytes = 0;
    std::uint32_t reads = 0;  ///< under way
    std::uint32_t sender = 0;
    Arrival* next = nullptr;
};

namespace {

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

/// Puts a message behind the others, which go first.
void add_departure(Driver& driver, Op* send, const DistantRequest& wanted, std::uint32_t peer)
{
    void* place = driver.allocator().allocate(sizeof(Departure));
    if (place == nullptr) {
        no_room(driver);
    }
    auto* const made = new (place) Departure{
        .send = send, .receive = wanted.receive, .total_bytes = wanted.bytes, .peer = peer};
    Departure** end = &part_of(driver.rank()).departures;
    while (*end != nullptr) {
        end = &(*end)->next;
    }
    *end = made;
}

int start_reads(Driver& driver, Arrival& arrival);

/// Whether the message can be read. It is begun at once: a call that receives what was offered long
/// ago may be followed by no sweep.
bool add_arrival(Driver& driver, Op* receive, const DistantOffer& offer, std::uint32_t sender,
                 std::uint64_t bytes)
{
    void* target = nullptr;
    if (!driver.node().network->can_read() ||
        !driver.port()->prepare_target(receive->address, bytes, &target)) {
        return false;
    }
    void* place = driver.allocator().allocate(sizeof(Arrival));
    if (place == nullptr) {
        no_room(driver);
    }
    auto* const made = new (place) Arrival{.receive = receive,
                                           .offer = offer,
                                           .target = target,
                                           .total_bytes = bytes,
                                           .sender = sender};
    Arrival** end = &part_of(driver.rank()).arrivals;
    while (*end != nullptr) {
        end = &(*end)->next;
    }
    *end = made;
    (void)start_reads(driver, *made);
    return true;
}

/// The number of reads that were started.
int start_reads(Driver& driver, Arrival& arrival)
{
    int started = 0;
    while (arrival.asked_bytes < arrival.total_bytes && arrival.reads < reads_a_message) {
        const std::uint64_t bytes =
            std::min(read_bytes_max, arrival.total_bytes - arrival.asked_bytes);
        const base::Status status =
            driver.port()->read(driver.node().job_rank(arrival.sender), arrival.offer.exposure,
                                arrival.asked_bytes, arrival.receive->address + arrival.asked_bytes,
                                bytes, arrival.target, reinterpret_cast<std::uintptr_t>(&arrival));
        if (status == base::Status::failed) {
            platform::fatal(driver.rank().job_rank, driver.node().network->failure());
        }
        if (status != base::Status::done) {
            break;
        }
        arrival.asked_bytes += bytes;
        ++arrival.reads;
        ++started;
    }
    return started;
}

/// All bytes are there: the sender may have its memory back.
void finish_arrival(Driver& driver, Arrival* arrival)
{
    driver.port()->release_target(arrival->target);
    const DistantRequest answer{.send = arrival->offer.send};
    if (!driver.post_record(arrival->sender, transport::FrameKind::distant_request, answer)) {
        no_room(driver);
    }
    Op* const receive = arrival->receive;
    driver.allocator().free(arrival);
    driver.complete(receive);
}

/// True: all of it has left.
bool advance(Driver& driver, Departure& departure, int* frames)
{
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

}  // namespace

void offer_to_distant(Driver& driver, Op* send)
{
    Tickets& tickets = part_of(driver.rank()).tickets;
    DistantOffer offer{.send = tickets.issue(driver.allocator(), send, send->peer, 0),
                       .size_bytes = send->size_bytes,
                       .exposure = {}};
    if (offer.send == 0) {
        no_room(driver);
    }
    if (send->size_bytes >= driver.node().knobs.network_read_min && send->size_bytes != 0 &&
        driver.node().network->can_read()) {
        tickets.find(offer.send, send->peer)->exposed =
            driver.port()->expose(send->address, send->size_bytes, &offer.exposure);
        if (tickets.find(offer.send, send->peer)->exposed == nullptr) {
            offer.exposure = {};
        }
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

void pull_distant(Driver& driver, Op* receive, const transport::FrameHeader& header,
                  const DistantOffer& offer, std::uint32_t sender)
{
    const std::uint64_t bytes = note_match(receive, header, offer.size_bytes);
    if (bytes != 0 && offer.exposure.key != transport::Exposure::no_key &&
        add_arrival(driver, receive, offer, sender, bytes)) {
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
    add_departure(driver, send, wanted, sender);
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

/// Sends what there is room for; the number of frames.
int move_departures(Driver& driver)
{
    int frames = 0;
    for (Departure** link = &part_of(driver.rank()).departures; *link != nullptr;) {
        Departure* const departure = *link;
        if (!advance(driver, *departure, &frames)) {
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

/// Starts reads there is room for, and ends messages that are there; the number of both.
int move_arrivals(Driver& driver)
{
    int events = 0;
    std::uint64_t cookie = 0;
    while (driver.port()->poll_read(cookie)) {
        --reinterpret_cast<Arrival*>(cookie)->reads;
        ++events;
    }
    for (Arrival** link = &part_of(driver.rank()).arrivals; *link != nullptr;) {
        Arrival* const arrival = *link;
        events += start_reads(driver, *arrival);
        if (arrival->asked_bytes < arrival->total_bytes || arrival->reads != 0) {
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

int move_distant(Driver& driver)
{
    const RankPart& part = part_of(driver.rank());
    const int moved = part.departures != nullptr ? move_departures(driver) : 0;
    return part.arrivals != nullptr ? moved + move_arrivals(driver) : moved;
}

}  // namespace headway::protocol
