// SPDX-License-Identifier: Apache-2.0
//
// A lane: the way of frames from one rank to another of the same node. One ring of 64-byte lines
// carries headers and short payloads, the shortest in half a line; longer payloads lie in a byte
// ring beside it.
//
// A payload of several KiB is written in steps, and the state of the line says how many are done,
// so that a receiver who wants this very frame copies while the sender writes. Where lines are slow
// to change cores, shorter ones are announced before their first byte is written, so that the
// receiver asks for their lines meanwhile. What has to be made first (elements that are packed) is
// made in its place, step by step (post_made). Nobody waits for a writer: a frame that is not whole
// is not there.
//
// What is in the words: FrameHeader 16 | 12 bytes (half a line) or 40 (a whole one): the payload,
// or Beside: where in the byte ring. What is in the tag: bits 0 to 7 the kind, 8 to 13 the length
// of a payload in the line.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "platform/atomic.hpp"
#include "platform/line_transfer.hpp"
#include "platform/mapping.hpp"
#include "platform/memory_copy.hpp"
#include "platform/short_copy.hpp"
#include "platform/streaming_copy.hpp"
#include "sync/spsc_bytes.hpp"
#include "sync/spsc_cells.hpp"
#include "transport/frame.hpp"
#include "transport/shm/cost_choice.hpp"
#include "transport/shm/early_choice.hpp"
#include "transport/shm/lane_frame.hpp"
#include "transport/shm/reading_choice.hpp"
#include "transport/shm/step_choice.hpp"
#include "transport/shm/store_choice.hpp"

namespace headway::transport::shm {

/// Byte rings. A ring that both sides' caches hold is a slow one: each line written must first be
/// taken from its last reader. Beyond two mebibytes the lines have left for a shared cache
/// meanwhile
/// (`bench_lane` shows both). Untouched pages cost nothing.
inline constexpr std::size_t lane_ring_bytes_min = 128 * 1024;
inline constexpr std::size_t lane_ring_bytes_max = 2048 * 1024;

/// Longest payload for which there is room in every lane at some time. In longer rings there is for
/// a quarter of the ring.
inline constexpr std::size_t lane_frame_bytes_max = lane_ring_bytes_min / 4;

/// Size of the byte rings where each of `ranks` may have a lane to each other one, in a heap of
/// `heap_bytes`: all of them together stay below a quarter of it, and 256 MiB, while they can.
constexpr std::size_t lane_ring_bytes(std::uint64_t ranks, std::uint64_t heap_bytes) noexcept
{
    constexpr std::uint64_t together_max = 256ULL * 1024 * 1024;
    std::size_t bytes = lane_ring_bytes_max;
    while (bytes > lane_ring_bytes_min &&
           ranks * ranks * bytes > std::min(together_max, heap_bytes / 4)) {
        bytes /= 2;
    }
    return bytes;
}

/// As constructed, but for what open() sets. In the node heap, made by the sender, found by the
/// receiver through its list of inbound lanes, never moved.
struct Lane {
    /// Bytes to allocate for a lane, its byte ring included.
    static constexpr std::size_t bytes_needed(std::size_t ring_bytes) noexcept
    {
        return sizeof(Lane) + ring_bytes;
    }

    /// Requires a power of two from lane_ring_bytes_min to lane_ring_bytes_max.
    void open(std::uint32_t sender_rank, std::size_t ring_bytes,
              Showing showing = Showing::in_steps, Reading reading = Reading::measured) noexcept
    {
        sender = sender_rank;
        showing_ = showing;
        for (ReadingChoice& choice : reading_choices_) {
            choice = ReadingChoice(reading, showing == Showing::announced
                                                ? ReadingChoice::halves_by_asking
                                                : ReadingChoice::halves_in_steps);
        }
        spared_left_ = reading == Reading::measured ? spared_messages : 0;
        payloads_.open(ring_bytes);
    }

    /// Thread rule: the sender's executor. done, or retry_lane_full with nothing changed; then the
    /// receiver's consume() says that the sender is to be told when there is room.
    base::Status post(FrameKind kind, FrameHeader header, const void* payload,
                      std::size_t payload_bytes) noexcept
    {
        const base::Status status = try_post(kind, header, payload, payload_bytes);
        return status == base::Status::done ? status
                                            : post_again(kind, header, payload, payload_bytes);
    }

    /// The same for a payload that is made in its place, a long one in steps that a receiver who
    /// wants this very frame takes while the next one is made. Requires: it does not fit a line.
    base::Status post_made(FrameKind kind, FrameHeader header, const MadePayload& payload) noexcept
    {
        const base::Status status = try_post_made(kind, header, payload);
        return status == base::Status::done
                   ? status
                   : try_again([&] { return try_post_made(kind, header, payload); });
    }

    base::Status try_post(FrameKind kind, FrameHeader header, const void* payload,
                          std::size_t payload_bytes) noexcept
    {
        return payload_bytes <= half_payload_bytes_max
                   ? write_half(kind, header, payload, payload_bytes)
                   : write_whole(kind, header, payload, payload_bytes);
    }

    /// Thread rule: the receiver's executor.
    bool peek(Frame& frame) noexcept
    {
        std::uint32_t tag = 0;
        const CellContent* const content = peek_content(&tag);
        if (content == nullptr || (tag & steps_flag) != 0) {
            return false;
        }
        frame.kind = static_cast<FrameKind>(tag & kind_mask);
        frame.header = content->header;
        frame.payload_bytes = tag >> length_shift;
        frame.payload = content->inline_payload;
        frame.is_cached = false;
        if (frame.payload_bytes == length_beside) {
            const Beside beside = beside_of(content);
            frame.payload_bytes = beside.payload_bytes;
            frame.payload = place_of(beside);
            frame.is_cached = beside.is_cached != 0;
        }
        return true;
    }

    /// The oldest frame while its sender writes it. False: there is none, or it is whole, or its
    /// sender says nothing of it before. Thread rule: the receiver's executor.
    bool peek_early(EarlyFrame& frame) noexcept
    {
        std::uint32_t tag = 0;
        const CellContent* const content = peek_content(&tag);
        if (content == nullptr || (tag & steps_flag) == 0) {
            return false;
        }
        const Beside beside = beside_of(content);
        frame.header = content->header;
        frame.payload_bytes = beside.payload_bytes;
        frame.early_bytes = (tag & kind_mask & ~steps_flag) * beside.step_bytes;
        frame.payload = place_of(beside);
        frame.is_cached = beside.is_cached != 0;
        return true;
    }

    /// Gives the peeked frame back. True: the sender waits for room and must be woken if it
    /// sleeps. Requires a successful peek.
    bool consume() noexcept
    {
        std::uint32_t tag = 0;
        const CellContent* const content = peek_content(&tag);
        return give_back(tag >> length_shift == length_beside &&
                         payloads_.release(beside_of(content).end));
    }
    /// The same, where the caller has the frame at hand as peek() gave it.
    bool consume(const Frame& frame) noexcept
    {
        return frame.payload_bytes <= inline_bytes_max ? give_back(false) : consume();
    }

    /// Ticks that a message of so many bytes, above StepChoice::one_step_bytes_max, takes to be
    /// written into the lane; 0 where that is not known. Thread rule: the sender's executor.
    std::uint64_t writing_ticks(std::uint64_t bytes) const noexcept
    {
        return store_choice_.cost() * bytes / StoreChoice::scale;
    }
    /// Whether the receiver had better read the next message of ReadingChoice::bytes_min and more
    /// than find it in the lane. Thread rule: the sender's executor.
    bool is_next_read() noexcept { return is_next_read(Readable::whole, store_choice_.cost()); }
    /// The same of any kind, of which the other way costs so much; 0 where that is not known. Of
    /// those for the receiver alone no other one may be under way.
    bool is_next_read(Readable kind, std::uint64_t writing_cost) noexcept
    {
        // Relaxed: a measurement, all of it in this word.
        const std::uint64_t told = reading_told[index_of(kind)].load(std::memory_order_relaxed);
        ReadingChoice& choice = choice_of(kind);
        return choice.is_next_read(ReadingTold::of_word(told), writing_cost) &&
               (kind != Readable::alone || choice.is_last_over());
    }
    /// Whether a message of so many bytes, ReadingChoice::bytes_min and more, had better be read
    /// only because its place in the byte ring was never used. Memory is dear the first time, for
    /// both sides, and a pair of ranks that exchanges few long messages needs none. Thread rule:
    /// likewise.
    bool spares_memory(std::uint64_t bytes) const noexcept
    {
        return spared_left_ != 0 && payloads_.is_next_new(bytes);
    }
    /// It is offered for that, as one of the two above has said; what the receiver is to tell.
    /// Thread rule: likewise.
    ReadingAsked offer_for_reading(Readable kind) noexcept
    {
        if (kind == Readable::whole && !choice_of(kind).reads_next()) {
            --spared_left_;
            return choice_of(kind).offer_beside();
        }
        if (kind == Readable::alone) {
            choice_of(Readable::halves).note_written(0);  // which would be better still
        }
        ReadingAsked asked = choice_of(kind).offer();
        asked.kind = kind;
        return asked;
    }
    /// It goes through slots, which cost so much lately, or 0. Thread rule: likewise.
    void note_staged(std::uint64_t cost) noexcept
    {
        choice_of(Readable::halves).note_written(cost);
        choice_of(Readable::alone).note_written(cost);
    }
    /// What became of a message that was read. Thread rule: the receiver's executor.
    void tell_reading(Readable kind, ReadingTold told) noexcept
    {
        // Relaxed: see is_next_read().
        reading_told[index_of(kind)].store(told.word(), std::memory_order_relaxed);
    }
    /// The sender has copied both halves of the message. Thread rule: the sender's executor.
    void note_both_halves() noexcept { choice_of(Readable::halves).note_both_halves(); }

    // Written by the receiver's list when the sender joins it, read by the receiver.
    Lane* next_inbound = nullptr;
    // Written by open(), read by the receiver.
    std::uint32_t sender = 0;
    // Set by the sender when it finds no room, cleared by the receiver that tells it.
    std::atomic<std::uint32_t> is_starving{0};
    // A ReadingTold of each kind, of the last message that was read. Written by the receiver's
    // executor, read by the sender's.
    std::atomic<std::uint64_t> reading_told[readable_kinds] = {};
    // The lane by which the receiver answers, where it is known. Written and read by the sender's
    // executor, who is the reader of that one.
    const Lane* answers = nullptr;
    sync::SpscCells<lane_lines> cells;
    // Of early frames. The receiver's own.
    alignas(platform::cache_line_bytes) EarlyChoice early_choice;

  private:
    static constexpr std::uint32_t kind_mask = 0xFF;
    static constexpr unsigned length_shift = 8;
    /// A length that no inline payload has.
    static constexpr std::uint32_t length_beside = 63;
    static_assert(inline_bytes_max < length_beside);
    /// In the place of a kind: the frame is not whole, and the other bits are its steps written.
    static constexpr std::uint32_t steps_flag = 0x80;
    static_assert(static_cast<std::uint8_t>(FrameKind::count) < steps_flag);
    /// Payloads whose place is chosen by their source (docs/design/011). Longer ones are copied by
    /// instructions that know both ends.
    static constexpr std::size_t placed_bytes_min = 256;
    static constexpr std::size_t placed_bytes_max = 8192;
    /// Shorter payloads are never streamed: no gain between any cores.
    static constexpr std::size_t streamed_bytes_min = 512;
    /// Of those in one step. Seen: 0.3 of streaming ones between near cores of a Zen 4, 0.9 to 2.2
    /// between far ones. More than 0.75 between near ones of a Zen 3, where a payload that is
    /// streamed takes four times as long.
    static constexpr CostChoice::Dear short_payloads{5, 4};
    /// Payloads whose pages are mapped at once, the first time: 64 KiB have 16.
    static constexpr std::size_t prepared_bytes_min = 16384;
    /// Messages left to be read before the byte ring is used for them. Seen: a read takes 5 to 10
    /// us more than a written message of 64 KiB, the first use of its 16 pages 60 to 130.
    static constexpr std::uint32_t spared_messages = 64;
    /// Payloads that are announced: shorter ones are written sooner than the receiver hears of
    /// them, longer ones go in steps.
    static constexpr std::size_t announced_bytes_min = 1024;
    static constexpr std::size_t announced_bytes_max = StepChoice::step_bytes_max;
    /// Steps of a payload that is made: to make one takes longer than to announce it.
    static constexpr std::size_t made_step_bytes = 2048;
    static constexpr std::size_t made_steps_max = 64;
    static_assert(made_steps_max < steps_flag);
    /// The announced number of steps fits beside the flag.
    static_assert(lane_ring_bytes_max / 4 / StepChoice::step_bytes_max < steps_flag);

    static constexpr std::uint32_t tag_of(std::uint32_t kind, std::size_t length) noexcept
    {
        return static_cast<std::uint32_t>(length) << length_shift | kind;
    }

    [[gnu::always_inline]] base::Status write_half(FrameKind kind, FrameHeader header,
                                                   const void* payload,
                                                   std::size_t payload_bytes) noexcept
    {
        auto* const content = reinterpret_cast<CellContent*>(cells.reserve(false));
        if (content == nullptr) [[unlikely]] {
            return base::Status::retry_lane_full;
        }
        content->header = header;
        platform::copy_short(content->inline_payload, payload, payload_bytes);
        cells.publish(false, tag_of(static_cast<std::uint8_t>(kind), payload_bytes));
        return base::Status::done;
    }

    [[gnu::noinline]] base::Status write_whole(FrameKind kind, FrameHeader header,
                                               const void* payload,
                                               std::size_t payload_bytes) noexcept
    {
        auto* const content = reinterpret_cast<CellContent*>(cells.reserve(true));
        if (content == nullptr) [[unlikely]] {
            return base::Status::retry_lane_full;
        }
        if (payload_bytes <= inline_bytes_max) {
            content->header = header;
            platform::copy_short(content->inline_payload, payload, payload_bytes);
            cells.publish(true, tag_of(static_cast<std::uint8_t>(kind), payload_bytes));
            return base::Status::done;
        }
        Measure measure;
        if (!write_beside(content, header, static_cast<const std::byte*>(payload), payload_bytes,
                          measure)) {
            return base::Status::retry_lane_full;
        }
        cells.publish(true, tag_of(static_cast<std::uint8_t>(kind), length_beside));
        if (measure.choice != nullptr) {
            note_stores(measure);
        }
        return base::Status::done;
    }

    /// A payload whose stores are measured.
    struct Measure {
        StoreChoice* choice = nullptr;  ///< null: none is
        std::uint64_t begin = 0;
        std::uint64_t bytes = 0;
        bool streams = false;
    };

    /// Once it is published: its last stores, up to 4 KiB of them, cost nothing before they leave
    /// the core, and the receiver need not wait for that.
    static void note_stores(const Measure& measure) noexcept
    {
        measure.choice->note(measure.streams, measure.bytes,
                             platform::ticks_after_stores() - measure.begin);
    }

    /// Of a lane that was full.
    [[gnu::noinline]] base::Status post_again(FrameKind kind, FrameHeader header,
                                              const void* payload,
                                              std::size_t payload_bytes) noexcept
    {
        return try_again([&] { return try_post(kind, header, payload, payload_bytes); });
    }
    template <typename Try>
    base::Status try_again(Try&& attempt) noexcept
    {
        is_starving.store(1, std::memory_order_relaxed);  // relaxed: ordered by the fence
        // (3) sequentially consistent, pairs with (4): either this second try sees the room that
        // the receiver gave back, or the receiver sees that somebody waits for it.
        platform::RealAtomics::fence_full();
        return attempt();
    }

    /// Of the peeked frame; `gives_bytes`: room went back to the sender with its payload.
    bool give_back(bool gives_bytes) noexcept
    {
        // Room goes back to the sender with every quarter of a ring; only then it can matter.
        const bool gives_cells = cells.consume();
        if (!gives_bytes && !gives_cells) [[likely]] {
            return false;
        }
        return tells_sender();
    }

    [[gnu::noinline]] bool tells_sender() noexcept
    {
        platform::RealAtomics::fence_full();  // (4) sequentially consistent, pairs with (3)
        // Relaxed: ordered by the fence; two frames in a row may both find it set, which is as
        // well.
        if (is_starving.load(std::memory_order_relaxed) == 0) {
            return false;
        }
        is_starving.store(0, std::memory_order_relaxed);
        return true;
    }

    /// Where a payload beside the cells goes.
    struct Reserved {
        std::byte* bytes;  ///< null: no room
        bool is_new;       ///< no piece before had all of it
    };

    /// A place beside for a payload that comes from `source`, if that matters.
    [[gnu::always_inline]] Reserved reserve_beside(std::size_t payload_bytes, const void* source,
                                                   Beside& beside) noexcept
    {
        sync::ByteReservation piece{};
        if (!payloads_.reserve(payload_bytes, &piece, source)) {
            return {nullptr, false};
        }
        auto* const place = static_cast<std::byte*>(payloads_.place_of(piece.begin));
        if (piece.is_new && payload_bytes >= prepared_bytes_min) [[unlikely]] {
            platform::prepare_for_writing(place, payload_bytes);
        }
        beside.end = piece.end;
        beside.payload_bytes = static_cast<std::uint32_t>(payload_bytes) & INT32_MAX;
        beside.step_bytes = static_cast<std::uint32_t>(payload_bytes);
        return {place, piece.is_new};
    }

    base::Status try_post_made(FrameKind kind, FrameHeader header,
                               const MadePayload& payload) noexcept
    {
        auto* const content = reinterpret_cast<CellContent*>(cells.reserve(true));
        Beside beside;
        std::byte* const place =
            content != nullptr ? reserve_beside(payload.bytes, nullptr, beside).bytes : nullptr;
        if (place == nullptr) {
            return base::Status::retry_lane_full;
        }
        constexpr std::size_t line = platform::cache_line_bytes;
        const std::size_t step =
            std::max(made_step_bytes, (payload.bytes / made_steps_max + line - 1) / line * line);
        beside.step_bytes = static_cast<std::uint32_t>(step);
        beside.is_cached = 1;
        std::uint32_t steps = 0;
        for (std::uint64_t at = 0; at < payload.bytes; at += step) {
            const std::uint64_t end = std::min(at + step, payload.bytes);
            payload.make(payload.source, at, end, place + at);
            if (at == 0) {
                fill(content, header, beside);
            }
            if (end != payload.bytes) {
                cells.announce(tag_of(steps_flag | ++steps, length_beside));
            }
        }
        cells.publish(true, tag_of(static_cast<std::uint8_t>(kind), length_beside));
        return base::Status::done;
    }

    /// The receiver polls the line of `content`, so each write to it may cost it a way between the
    /// cores: it is written once there is something to say.
    bool write_beside(CellContent* content, FrameHeader header, const std::byte* payload,
                      std::size_t payload_bytes, Measure& measure) noexcept
    {
        const bool is_placed =
            payload_bytes >= placed_bytes_min && payload_bytes <= placed_bytes_max;
        Beside beside;
        const Reserved place = reserve_beside(payload_bytes, is_placed ? payload : nullptr, beside);
        if (place.bytes == nullptr) {
            return false;
        }
        if (showing_ == Showing::announced && payload_bytes <= announced_bytes_max) {
            write_announced(content, header, beside, place.bytes, payload);
            return true;
        }
        if (payload_bytes <= StepChoice::one_step_bytes_max) {
            write_at_once(place, payload, payload_bytes, measure);
            fill(content, header, beside);
            return true;
        }
        write_in_steps(content, header, beside, place, payload, measure);
        return true;
    }

    /// Longer than one_step_bytes_max.
    void write_in_steps(CellContent* content, FrameHeader header, Beside beside, Reserved place,
                        const std::byte* payload, Measure& measure) noexcept
    {
        const std::size_t payload_bytes = beside.payload_bytes;
        const bool streams = store_choice_.next_streams(place.is_new);
        const bool is_measured = !place.is_new && (store_choice_.is_measured() ||
                                                   choice_of(Readable::whole).is_measuring());
        const std::uint64_t begin = is_measured ? platform::ticks() : 0;
        const std::size_t step = step_choice_.step_bytes(payload_bytes, streams, answers_taken(),
                                                         store_choice_.is_near());
        beside.step_bytes = static_cast<std::uint32_t>(step);
        beside.is_cached = streams ? 0 : 1;
        std::uint32_t steps = 0;
        for (std::size_t at = 0; at < payload_bytes; at += step) {
            const std::size_t bytes = std::min(step, payload_bytes - at);
            if (streams) {
                platform::copy_streaming(place.bytes + at, payload + at, bytes);
            } else {
                platform::copy_departing(place.bytes + at, payload + at, bytes);
            }
            if (at == 0) {
                fill(content, header, beside);
            }
            if (at + bytes != payload_bytes) {
                cells.announce(tag_of(steps_flag | ++steps, length_beside));
            }
        }
        if (is_measured) {
            measure = {&store_choice_, begin, payload_bytes, streams};
        }
        if (payload_bytes >= ReadingChoice::bytes_min) {
            choice_of(Readable::whole)
                .note_written(is_measured
                                  ? ReadingChoice::cost_of(payload_bytes, platform::ticks() - begin)
                                  : 0);
        }
    }

    /// Before the frame is announced or published: its words do not change then.
    static void fill(CellContent* content, FrameHeader header, Beside beside) noexcept
    {
        content->header = header;
        std::memcpy(content->inline_payload, &beside, sizeof beside);
    }

    /// A payload of up to one_step_bytes_max.
    void write_at_once(Reserved place, const std::byte* payload, std::size_t bytes,
                       Measure& measure) noexcept
    {
        if (bytes < streamed_bytes_min) {
            std::memcpy(place.bytes, payload, bytes);
            return;
        }
        const bool streams = short_store_choice_.next_streams(place.is_new);
        if (short_store_choice_.is_measured()) {
            // By the payload: what it costs hardly depends on its length.
            measure = {&short_store_choice_, platform::ticks(), StoreChoice::scale, streams};
        }
        if (streams) {
            platform::copy_streaming(place.bytes, payload, bytes);
        } else {
            platform::copy_memory(place.bytes, payload, bytes);
        }
    }

    /// For a core that asks ours: what is too short to be announced is handed on once it is there.
    void write_announced(CellContent* content, FrameHeader header, Beside beside, std::byte* place,
                         const std::byte* payload) noexcept
    {
        if (beside.payload_bytes < announced_bytes_min) {
            std::memcpy(place, payload, beside.payload_bytes);
            platform::demote_lines(place, beside.payload_bytes);
            fill(content, header, beside);
        } else {
            fill(content, header, beside);
            cells.announce(tag_of(steps_flag, length_beside));
            platform::copy_as_string(place, payload, beside.payload_bytes);
        }
    }

    /// Where nobody can tell, each frame counts as an answer to the one before.
    std::uint64_t answers_taken() noexcept
    {
        return answers != nullptr ? answers->cells.taken() : ++asked_in_vain_;
    }

    static constexpr std::size_t index_of(Readable kind) noexcept
    {
        return static_cast<std::size_t>(kind);
    }
    ReadingChoice& choice_of(Readable kind) noexcept { return reading_choices_[index_of(kind)]; }

    const CellContent* peek_content(std::uint32_t* tag) noexcept
    {
        return reinterpret_cast<const CellContent*>(cells.peek(tag));
    }

    static Beside beside_of(const CellContent* content) noexcept
    {
        Beside beside;
        std::memcpy(&beside, content->inline_payload, sizeof beside);
        return beside;
    }

    const std::byte* place_of(const Beside& beside) noexcept
    {
        const std::uint64_t begin = payloads_.begin_of(beside.end, beside.payload_bytes);
        return static_cast<const std::byte*>(payloads_.place_of(begin));
    }

    // The sender's own.
    alignas(platform::cache_line_bytes) StoreChoice store_choice_;
    StoreChoice short_store_choice_{short_payloads};
    StepChoice step_choice_;
    ReadingChoice reading_choices_[readable_kinds];
    Showing showing_ = Showing::in_steps;
    std::uint32_t spared_left_ = 0;    ///< see spares_memory()
    std::uint64_t asked_in_vain_ = 0;  ///< see answers_taken()
    // Last: its bytes follow the Lane in memory.
    sync::SpscBytes payloads_;
};

}  // namespace headway::transport::shm
