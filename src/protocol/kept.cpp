// SPDX-License-Identifier: Apache-2.0
#include "protocol/kept.hpp"

#include <new>

#include "engine/observation.hpp"
#include "platform/fatal.hpp"
#include "platform/memory_copy.hpp"
#include "protocol/rank_part.hpp"
#include "protocol/rendezvous.hpp"

namespace headway::protocol {

using engine::Driver;

namespace {

void note_kept(Driver& driver, const Unexpected& message)
{
    if (driver.tracer() != nullptr) [[unlikely]] {
        engine::record_kept(driver, message.header, message.message_bytes);
    }
}

/// A message with room for `bytes`; null where the heap has none.
Unexpected* make_kept(Driver& driver, transport::FrameHeader header, std::size_t bytes)
{
    void* place = driver.allocator().allocate(sizeof(Unexpected) + bytes);
    if (place == nullptr) {
        return nullptr;
    }
    auto* message = new (place) Unexpected;
    message->header = header;
    message->message_bytes = bytes;
    return message;
}

void keep(Driver& driver, MatchContext& context, Unexpected* message)
{
    if (message->offered == nullptr) {
        count_unexpected(driver, driver.allocator().usable_bytes(message));
    }
    context.keep(message);
    context.make_room(driver.allocator());
    note_kept(driver, *message);
}

/// A message that holds `bytes` of payload.
Unexpected* copy_kept(Driver& driver, transport::FrameHeader header, const void* payload,
                      std::size_t bytes)
{
    Unexpected* const message = make_kept(driver, header, bytes);
    if (message == nullptr) {
        no_room_for_messages(driver);
    }
    platform::copy_memory(message->payload(), payload, bytes);
    return message;
}

}  // namespace

void no_room_for_messages(Driver& driver)
{
    platform::fatal(driver.rank().job_rank,
                    "the node heap is full of messages that arrived before their receives; post "
                    "receives earlier or raise HEADWAY_HEAP_SIZE, or the size of /dev/shm where "
                    "the heap is there");
}

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
    if (is_collective(context.context())) {
        driver.note_frame_ahead();
    }
    keep(driver, context, copy_kept(driver, frame.header, frame.payload, frame.payload_bytes));
}

void keep_given_up(Driver& driver, MatchContext& context, transport::FrameHeader header)
{
    Unexpected* const message = copy_kept(driver, header, &header, 0);
    message->kept_as = engine::KeptAs::given_up;
    keep(driver, context, message);
}

void keep_distant(Driver& driver, MatchContext& context, transport::FrameHeader header,
                  const KeptOffer& kept)
{
    Unexpected* const message = copy_kept(driver, header, &kept, sizeof kept);
    message->kept_as = engine::KeptAs::distant_offer;
    message->message_bytes = kept.offer.size_bytes;
    keep(driver, context, message);
}

void keep_offer(Driver& driver, MatchContext& context, transport::FrameHeader header,
                const Offer& offer)
{
    Unexpected* message = new (&offer.send->arrival) Unexpected;
    message->header = header;
    message->offered = offer.send;
    message->message_bytes = offer.size_bytes;
    keep(driver, context, message);
}

bool take_in(Driver& driver, MatchContext& context, transport::FrameHeader header,
             const Offer& offer)
{
    if (!driver.rank().takes_eager() || offer.reading.kind != transport::shm::Readable::whole) {
        return false;
    }
    Unexpected* const message = make_kept(driver, header, offer.size_bytes);
    if (message == nullptr) {
        return false;
    }
    if (read_whole(driver, message->payload(), offer, offer.size_bytes) !=
        transport::CopyOutcome::done) {
        driver.allocator().free(message);
        return false;
    }
    if (is_collective(context.context())) {
        driver.note_frame_ahead();
    }
    keep(driver, context, message);
    driver.complete(offer.send);
    return true;
}

void forget_kept(Driver& driver, Unexpected* message)
{
    count_unexpected(driver, 0 - driver.allocator().usable_bytes(message));
    driver.allocator().free(message);
}

}  // namespace headway::protocol
