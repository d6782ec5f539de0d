// SPDX-License-Identifier: Apache-2.0
#include "protocol/rendezvous.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "engine/copy_job.hpp"
#include "protocol/distant.hpp"
#include "protocol/rank_part.hpp"

namespace headway::protocol {

using engine::Driver;
using engine::Op;
using engine::OpError;

/// Double copy through the node heap. Made by the receiver, freed by the receiver when drained:
/// the sender does not touch it after it has published the last chunk.
struct Pipe {
    static constexpr std::uint64_t chunk_bytes = 32 * 1024;
    static constexpr std::uint64_t chunk_count = 4;

    // Written by the receiver before the sender hears of the pipe.
    Op* send = nullptr;
    Op* receive = nullptr;
    std::uint64_t total_bytes = 0;
    std::uint32_t sender = 0;
    std::uint32_t receiver = 0;
    Pipe* next_incoming = nullptr;  ///< the receiver's list
    Pipe* next_outgoing = nullptr;  ///< the sender's list

    // Bytes that the sender has put in. Written by the sender, read by the receiver.
    alignas(64) std::atomic<std::uint64_t> filled{0};
    // Bytes that the receiver has taken out. Written by the receiver, read by the sender.
    alignas(64) std::atomic<std::uint64_t> drained{0};
    // The chunks follow: as many bytes as the message needs, up to all of them.

    static std::size_t bytes_needed(std::uint64_t total_bytes) noexcept
    {
        return sizeof(Pipe) + std::min(total_bytes, chunk_count * chunk_bytes);
    }
    std::byte* chunk_at(std::uint64_t position) noexcept
    {
        return reinterpret_cast<std::byte*>(this + 1) + chunk_of(position) * chunk_bytes;
    }
    static std::uint64_t chunk_of(std::uint64_t position) noexcept
    {
        return position / chunk_bytes % chunk_count;
    }
    /// Size of the chunk that begins at `position`.
    std::uint64_t bytes_at(std::uint64_t position) const noexcept
    {
        return std::min(chunk_bytes, total_bytes - position);
    }
};

namespace {

/// Chunks moved with the word in hand before its owner has a chance to get it.
constexpr int chunks_a_turn = 2;

void count_bytes(std::atomic<std::uint64_t>& counter, std::uint64_t bytes)
{
    // Relaxed: a statistic with one writer.
    counter.store(counter.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

void complete_both(Driver& driver, Op* receive, Op* send, OpError error)
{
    if (error != OpError::none) {
        receive->error = error;
        send->error = error;
    }
    driver.complete(receive);
    driver.complete(send);
}

bool open_pipe(Driver& driver, Op* receive, const Offer& offer, std::uint64_t bytes)
{
    void* place = driver.allocator().allocate(Pipe::bytes_needed(bytes));
    if (place == nullptr) {
        return false;
    }
    auto* pipe = new (place) Pipe;
    pipe->send = offer.send;
    pipe->receive = receive;
    pipe->total_bytes = bytes;
    pipe->sender = offer.send->owner->rank;
    pipe->receiver = driver.rank().rank;
    if (!driver.post_record(pipe->sender, transport::FrameKind::pipe_open, pipe)) {
        driver.allocator().free(pipe);
        return false;
    }
    RankPart& part = part_of(driver.rank());
    pipe->next_incoming = part.incoming;
    part.incoming = pipe;
    return true;
}

/// Fills what there is room for. True: the last chunk is published and the pipe is not ours any
/// more.
bool fill(Driver& driver, Pipe* pipe, int* moved)
{
    Op* const send = pipe->send;
    const std::uint64_t total = pipe->total_bytes;
    engine::RankState& receiver = driver.node().rank_state(pipe->receiver);
    // Relaxed: written by this executor only.
    std::uint64_t filled = pipe->filled.load(std::memory_order_relaxed);
    const auto has_room = [&] {
        // (1) acquire, pairs with (4): the receiver has read the chunk that is filled again.
        return filled - pipe->drained.load(std::memory_order_acquire) <
               Pipe::chunk_count * Pipe::chunk_bytes;
    };
    for (int chunks = 0; chunks < chunks_a_turn && filled < total && has_room(); ++chunks) {
        const std::uint64_t bytes = pipe->bytes_at(filled);
        if (!driver.read_memory(pipe->chunk_at(filled), send->address + filled, bytes)) {
            send->error = OpError::bad_address;
        }
        filled += bytes;
        const bool is_last = filled == total;
        // (2) release, pairs with (3): the chunk is visible with its count.
        pipe->filled.store(filled, std::memory_order_release);
        driver.worker().ring(receiver);
        ++*moved;
        if (is_last) {
            driver.complete(send);
            return true;
        }
    }
    return false;
}

/// Drains what is there. True: all has arrived.
bool drain(Driver& driver, Pipe* pipe, int* moved)
{
    engine::RankState& sender = driver.node().rank_state(pipe->sender);
    // Relaxed: written by this executor only.
    std::uint64_t drained = pipe->drained.load(std::memory_order_relaxed);
    const auto has_bytes = [&] {
        // (3) acquire, pairs with (2).
        return drained < pipe->filled.load(std::memory_order_acquire);
    };
    for (int chunks = 0; chunks < chunks_a_turn && has_bytes(); ++chunks) {
        const std::uint64_t bytes = pipe->bytes_at(drained);
        if (!driver.write_memory(pipe->receive->address + drained, pipe->chunk_at(drained),
                                 bytes)) {
            pipe->receive->error = OpError::bad_address;
        }
        drained += bytes;
        // (4) release, pairs with (1): our read comes before the next fill.
        pipe->drained.store(drained, std::memory_order_release);
        driver.worker().ring(sender);
        ++*moved;
    }
    return drained == pipe->total_bytes;
}

/// Nobody knows yet who will ask for the result, so the receive counts as open from here.
void pull_by_pipe(Driver& driver, Op* receive, const Offer& offer, std::uint64_t bytes)
{
    keep_open(driver, receive);
    if (!open_pipe(driver, receive, offer, bytes)) {
        complete_both(driver, receive, offer.send, OpError::no_memory);
    }
}

bool share(Driver& driver, Op* receive, const Offer& offer, std::uint64_t bytes)
{
    keep_open(driver, receive);
    return engine::start_copy(driver, receive, offer.send, offer.source,
                              driver.place_of(receive->address), bytes);
}

void copy_whole(Driver& driver, Op* receive, const Offer& offer, std::uint64_t bytes)
{
    const transport::Place target = driver.place_of(receive->address);
    switch (driver.node().peer_memory.copy(target, offer.source, bytes)) {
        case transport::CopyOutcome::done:
            // Relaxed: a statistic.
            if (offer.source.process != target.process) {
                driver.rank().counters.bytes_copied_across.fetch_add(bytes,
                                                                     std::memory_order_relaxed);
            }
            complete_both(driver, receive, offer.send, OpError::none);
            break;
        case transport::CopyOutcome::bad_address:
            complete_both(driver, receive, offer.send, OpError::bad_address);
            break;
        case transport::CopyOutcome::unreachable:
            pull_by_pipe(driver, receive, offer, bytes);
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

void keep_open(Driver& driver, Op* receive)
{
    if (!receive->is_open && receive->graph == nullptr) {
        driver.mark_open(receive);
    }
}

std::uint64_t note_match(Op* receive, const transport::FrameHeader& header,
                         std::uint64_t message_bytes)
{
    const std::uint64_t bytes = std::min(message_bytes, receive->size_bytes);
    receive->header.sequence = header.sequence;  // by which a trace names the message
    receive->status_source = header.source;
    receive->status_tag = header.tag;
    receive->status_bytes = bytes;
    if (message_bytes > bytes) {
        receive->error = OpError::truncated;
    }
    return bytes;
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
    } else if (!engine::start_copy(driver, delivered, asked.send, source, asked.target,
                                   asked.bytes)) {
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
    if (bytes == 0) {
        complete_both(driver, receive, offer.send, OpError::none);
        return;
    }
    if (!driver.node().peer_memory.can_reach(offer.source.process)) {
        pull_by_pipe(driver, receive, offer, bytes);
    } else if (bytes <= driver.node().knobs.copy_at_once || !share(driver, receive, offer, bytes)) {
        copy_whole(driver, receive, offer, bytes);
    }
}

void take_pipe_opening(Driver& driver, const transport::Frame& frame, std::uint32_t /*sender*/)
{
    auto* pipe = frame.record<Pipe*>();
    RankPart& part = part_of(driver.rank());
    pipe->next_outgoing = part.outgoing;
    part.outgoing = pipe;
}

int move_pipes(Driver& driver)
{
    RankPart& part = part_of(driver.rank());
    int moved = part.departures != nullptr ? move_departures(driver) : 0;
    moved += part.arrivals != nullptr ? move_arrivals(driver) : 0;
    for (Pipe** link = &part.outgoing; *link != nullptr;) {
        Pipe* const pipe = *link;
        // Read before the last chunk is published: the receiver may free the pipe then.
        Pipe* const next = pipe->next_outgoing;
        if (fill(driver, pipe, &moved)) {
            *link = next;
        } else {
            link = &pipe->next_outgoing;
        }
    }
    for (Pipe** link = &part.incoming; *link != nullptr;) {
        Pipe* const pipe = *link;
        if (!drain(driver, pipe, &moved)) {
            link = &pipe->next_incoming;
            continue;
        }
        *link = pipe->next_incoming;
        count_bytes(driver.rank().counters.bytes_piped, pipe->total_bytes);
        Op* const receive = pipe->receive;
        driver.allocator().free(pipe);
        driver.complete(receive);
    }
    return moved;
}

}  // namespace headway::protocol
