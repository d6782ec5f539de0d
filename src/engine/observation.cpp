// SPDX-License-Identifier: Apache-2.0
#include "engine/observation.hpp"

#include <algorithm>

#include "platform/process.hpp"

namespace headway::engine {

namespace {

/// Threads of a rank that get a ring: a program that makes threads without end must not fill the
/// heap with them.
constexpr std::uint32_t threads_observed_max = 64;

/// Several threads may count for a rank, so this is a read-modify-write; relaxed: statistics, each
/// by itself.
void add(std::atomic<std::uint64_t>& counter, std::uint64_t more) noexcept
{
    counter.fetch_add(more, std::memory_order_relaxed);
}

/// A collective's messages are named by the graph: (context, source, slot, number).
bool is_collective(const transport::FrameHeader& header) noexcept
{
    return (header.context & 1U) != 0;
}

/// Numbers of one sender grow, and may go round. Matching does not look at them: lanes, and what
/// stands for them between nodes, keep the order, and this counts whether they do.
void note_arrival(Driver& driver, std::uint32_t sender, std::uint32_t number)
{
    std::uint32_t& last = driver.slot(sender).last_arrived;
    constexpr std::uint32_t half_round = 1U << 31;
    if (last == 0 || (number != last && number - last < half_round)) {
        last = number;
    } else {
        add(driver.rank().counters.messages_overtaken, 1);
    }
}

observe::Record message_event(observe::EventKind kind, const transport::FrameHeader& header,
                              std::uint64_t message_bytes)
{
    return {.begin_ns = platform::monotonic_ns(),
            .amount = message_bytes,
            .context = header.context,
            .source = header.source,
            .tag = header.tag,
            .sequence = header.sequence,
            .kind = kind};
}

}  // namespace

void observe_thread(Driver& driver, observe::ThreadKind kind)
{
    observe::Tracer& tracer = *driver.tracer();
    if (tracer.knows_thread()) {
        return;
    }
    RankState& rank = driver.rank();
    void* place = nullptr;
    if (rank.rings_made < threads_observed_max) {
        place = driver.allocator().allocate(observe::Ring::bytes_needed(tracer.records_a_ring()));
    }
    if (place == nullptr) {
        add(rank.counters.threads_unobserved, 1);
        tracer.adopt(nullptr);
        return;
    }
    observe::Ring* ring = observe::Ring::create(place, tracer.records_a_ring());
    ring->rank = rank.rank;
    ring->thread_id = platform::thread_id();
    ring->thread = kind;
    // Relaxed: only who holds the rank adds to the list.
    ring->next = rank.rings.load(std::memory_order_relaxed);
    ++rank.rings_made;
    // (1) release, pairs with (2) of object/observation.cpp: the ring is whole when it is found.
    rank.rings.store(ring, std::memory_order_release);
    tracer.adopt(ring);
}

void begin_call(Driver& driver, std::uint16_t function, std::int64_t begin_ns)
{
    if (observe::Ring* ring = driver.tracer()->ring(); ring != nullptr) {
        ring->begin_call(function, begin_ns);
    }
}

void end_call(Driver& driver, std::uint16_t function, std::int64_t begin_ns)
{
    observe::Ring* ring = driver.tracer() != nullptr ? driver.tracer()->ring() : nullptr;
    if (ring == nullptr) {
        return;
    }
    const auto length_ns = static_cast<std::uint64_t>(platform::monotonic_ns() - begin_ns);
    const std::uint8_t depth = ring->end_call();
    ring->write({.begin_ns = begin_ns,
                 .amount = length_ns,
                 .rank = driver.rank().rank,
                 .index = function,
                 .kind = observe::EventKind::call,
                 .depth = depth});
    RankCounters& counters = driver.rank().counters;
    if (depth == 0) {
        add(counters.calls, 1);
        add(counters.call_ns, length_ns);
        CallTable* const table = driver.rank().calls;
        if (table != nullptr && function < CallTable::functions_max) {
            add(table->tallies[function].calls, 1);
            add(table->tallies[function].call_ns, length_ns);
        }
    }
}

void number_message(Driver& driver, std::uint32_t peer, transport::FrameHeader* header)
{
    if (!is_collective(*header) && header->sequence == 0) {
        header->sequence = driver.slot(peer).messages_numbered + 1;
    }
}

std::uint32_t take_message_number(Driver& driver, std::uint32_t peer)
{
    std::uint32_t& numbered = driver.slot(peer).messages_numbered;
    numbered += numbered == UINT32_MAX ? 2 : 1;
    return numbered;
}

void record_posted(Driver& driver, std::uint32_t peer, const transport::FrameHeader& header,
                   std::uint64_t message_bytes, std::int64_t posted_ns)
{
    RankState& rank = driver.rank();
    if (!is_collective(header)) {
        std::uint32_t& numbered = driver.slot(peer).messages_numbered;
        numbered = std::max(numbered, header.sequence);
    }
    add(rank.counters.messages_sent, 1);
    add(rank.counters.bytes_sent, message_bytes);
    observe::Record event = message_event(observe::EventKind::posted, header, message_bytes);
    event.begin_ns = posted_ns;
    event.rank = rank.rank;
    event.peer = peer;
    driver.tracer()->record(event);
}

void record_received(Driver& driver, std::uint32_t sender, const transport::FrameHeader& header,
                     std::uint64_t message_bytes)
{
    if (!is_collective(header) && header.sequence != 0) {
        note_arrival(driver, sender, header.sequence);
    }
    observe::Record event = message_event(observe::EventKind::received, header, message_bytes);
    event.rank = driver.rank().rank;
    driver.tracer()->record(event);
}

void record_delivered(observe::Tracer& tracer, const Op& receive)
{
    const bool is_numbered = is_collective(receive.header) || receive.header.sequence != 0;
    if (receive.is_cancelled || !is_numbered) {
        return;  // no message: taken back, or from MPI_PROC_NULL
    }
    RankState& owner = *receive.owner;
    add(owner.counters.messages_received, 1);
    add(owner.counters.bytes_received, receive.status_bytes);
    transport::FrameHeader name = receive.header;
    name.source = receive.status_source;
    name.tag = receive.status_tag;
    observe::Record event =
        message_event(observe::EventKind::delivered, name, receive.status_bytes);
    event.rank = owner.rank;
    tracer.record(event);
}

void record_kept(Driver& driver, const transport::FrameHeader& header, std::uint64_t message_bytes)
{
    add(driver.rank().counters.messages_kept, 1);
    observe::Record event = message_event(observe::EventKind::kept, header, message_bytes);
    event.rank = driver.rank().rank;
    driver.tracer()->tell(event);
}

void record_matched_late(Driver& driver, const transport::FrameHeader& header,
                         std::uint64_t message_bytes)
{
    add(driver.rank().counters.messages_matched_late, 1);
    observe::Record event = message_event(observe::EventKind::matched_late, header, message_bytes);
    event.rank = driver.rank().rank;
    driver.tracer()->tell(event);
}

void record_sleep(Driver& driver, std::int64_t begin_ns)
{
    if (driver.tracer() == nullptr) {
        return;
    }
    const std::uint32_t rank = driver.rank().rank;
    const std::int64_t length_ns =
        observe::span_end(driver.tracer(), observe::SpanKind::sleep, rank, rank, begin_ns);
    add(driver.rank().counters.sleep_ns, static_cast<std::uint64_t>(length_ns));
}

void start_observing(Driver& driver, observe::Tracer& tracer)
{
    driver.start_recording(tracer);
}

void stop_observing(Driver& driver)
{
    observe::Ring* ring = driver.tracer()->ring();
    if (ring != nullptr && ring->open_since_ns() != 0) {
        end_call(driver, ring->open_function(), ring->open_since_ns());
    }
    driver.stop_recording();
}

}  // namespace headway::engine
