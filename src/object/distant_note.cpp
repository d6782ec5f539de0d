// SPDX-License-Identifier: Apache-2.0
#include "object/distant_note.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "object/checks.hpp"
#include "platform/fatal.hpp"

namespace headway::object {

namespace {

using Part = NoteParts::Part;

static_assert(std::is_trivially_copyable_v<DistantNote>);
static_assert(sizeof(Part) == transport::inline_bytes_max);

constexpr std::size_t part_count =
    (sizeof(DistantNote) + NoteParts::part_bytes - 1) / NoteParts::part_bytes;

std::size_t bytes_of_part(std::size_t index)
{
    return std::min(NoteParts::part_bytes, sizeof(DistantNote) - index * NoteParts::part_bytes);
}

/// Texts from another node end, whatever came.
void end_texts(DistantNote& note)
{
    for (const std::span<char> text :
         {std::span<char>(note.communicator), std::span<char>(note.elements.text),
          std::span<char>(note.signature.name), std::span<char>(note.signature.elements.text)}) {
        text.back() = '\0';
    }
}

[[noreturn]] void end_job(engine::Driver& driver, const std::string& sentence)
{
    platform::fatal(driver.rank().job_rank, sentence);
}

/// What the receiver of a message, or the one who takes a block, has said before.
void compare_elements(engine::Driver& driver, NoteBoard& board, const DistantNote& note)
{
    ElementNote taken;
    const auto meeting = board.meet(driver.allocator(), note.name, note.elements, &taken);
    if (meeting == NoteBoard::Meeting::no_memory) {
        end_job(driver,
                "the node heap has no room for what HEADWAY_CHECK compares; raise "
                "HEADWAY_HEAP_SIZE");
    }
    if (meeting == NoteBoard::Meeting::is_first || taken.is_same_block(note.elements)) {
        return;
    }
    const std::string sender = "rank " + std::to_string(note.name.sender);
    const std::string receiver = "rank " + std::to_string(note.name.receiver);
    const std::string comm = std::string(" communicator '") + note.communicator + "'";
    if (note.topic == DistantNote::Topic::partitioned) {
        end_job(driver, "the partitioned message of " + sender + " to " + receiver +
                            " of MPI_COMM_WORLD (tag " + std::to_string(note.name.slot) + "," +
                            comm + ") is sent as " + note.elements.text + ", but received as " +
                            taken.text +
                            "; give both sides the same types, and the same number in all "
                            "partitions");
    }
    end_job(driver, "collective call " + std::to_string(note.name.number & UINT32_MAX) + " on" +
                        comm + ": " + sender + " gives " + note.elements.text + " to " + receiver +
                        ", but that one takes " + taken.text +
                        "; give both sides the same count and types");
}

void compare_call(engine::Driver& driver, CallOrder& calls, const DistantNote& note)
{
    CallSignature other;
    int other_rank = 0;
    const auto answer =
        calls.compare(driver.allocator(), note.turn, note.signature, &other, &other_rank);
    if (answer != CallOrder::Answer::differs) {
        return;
    }
    end_job(driver, "collective call " + std::to_string(note.turn.number) + " on communicator '" +
                        note.communicator + "' is " + describe(note.signature) + " on rank " +
                        std::to_string(note.turn.rank) + " but " + describe(other) + " on rank " +
                        std::to_string(other_rank) +
                        "; let all members make the same calls in the same order");
}

void compare(engine::Driver& driver, const Checks& checks, const DistantNote& note)
{
    switch (note.topic) {
        case DistantNote::Topic::message:
            if (checks.messages != nullptr) {
                (void)checks.messages->leave(driver.allocator(), note.name, note.elements);
            }
            break;
        case DistantNote::Topic::partitioned:
            if (checks.messages != nullptr) {
                compare_elements(driver, *checks.messages, note);
            }
            break;
        case DistantNote::Topic::block:
            if (checks.blocks != nullptr) {
                compare_elements(driver, *checks.blocks, note);
            }
            break;
        case DistantNote::Topic::call:
            if (checks.calls != nullptr) {
                compare_call(driver, *checks.calls, note);
            }
            break;
    }
}

/// Handler of distant_note.
void take_note(engine::Driver& driver, const transport::Frame& frame, std::uint32_t sender)
{
    const Checks* const checks = made_checks(*driver.node().heap);
    DistantNote note;
    bool is_refused = frame.payload_bytes != sizeof(Part);
    if (checks == nullptr) {
        end_job(driver, "another node compares calls; set HEADWAY_CHECK alike on all nodes");
    }
    if (!is_refused && checks->parts->add(driver.allocator(), driver.rank().rank, sender,
                                          frame.record<Part>(), &note, &is_refused)) {
        compare(driver, *checks, note);
    }
    if (is_refused) {
        end_job(driver,
                "what another node says of a call (HEADWAY_CHECK) cannot be kept; raise "
                "HEADWAY_HEAP_SIZE, and let all hosts have the same Headway");
    }
}

}  // namespace

struct NoteParts::Open {
    std::uint32_t receiver;
    std::uint32_t sender;
    std::uint32_t next_index;
    std::byte bytes[sizeof(DistantNote)];
    Open* next;
};

bool NoteParts::add(memory::Allocator& allocator, std::uint32_t receiver, std::uint32_t sender,
                    const Part& part, DistantNote* note, bool* is_refused) noexcept
{
    *is_refused = true;
    if (part.index >= part_count || !lock_.lock(allocator.rank())) {
        return false;
    }
    Open** place = &open_;
    while (*place != nullptr && ((*place)->receiver != receiver || (*place)->sender != sender)) {
        place = &(*place)->next;
    }
    if (*place == nullptr) {
        *place = allocator.make<Open>(Open{receiver, sender, 0, {}, nullptr});
    }
    Open* const open = *place;
    bool is_whole = false;
    if (open != nullptr && open->next_index == part.index) {
        std::memcpy(open->bytes + part.index * part_bytes, part.bytes.data(),
                    bytes_of_part(part.index));
        *is_refused = false;
        is_whole = ++open->next_index == part_count;
    }
    if (is_whole) {
        std::memcpy(static_cast<void*>(note), open->bytes, sizeof *note);
        end_texts(*note);
        *place = open->next;
        allocator.free(open);
    }
    lock_.unlock();
    return is_whole;
}

bool send_note(engine::Driver& driver, std::uint32_t peer, const DistantNote& note)
{
    std::byte bytes[sizeof(DistantNote)];
    std::memcpy(bytes, &note, sizeof note);
    for (std::size_t i = 0; i < part_count; ++i) {
        Part part{.index = static_cast<std::uint32_t>(i), .bytes = {}};
        std::memcpy(part.bytes.data(), bytes + i * NoteParts::part_bytes, bytes_of_part(i));
        if (!driver.post_record(peer, transport::FrameKind::distant_note, part)) {
            return false;
        }
    }
    return true;
}

void take_distant_notes(engine::Node& node)
{
    node.handlers[static_cast<std::size_t>(transport::FrameKind::distant_note)] = &take_note;
}

}  // namespace headway::object
