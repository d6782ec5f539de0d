// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace headway::observe {

enum class EventKind : std::uint8_t {
    call,       ///< a call of the application into MPI, with its length
    span,       ///< something else that took time: see SpanKind
    posted,     ///< a message has been handed to the lane to its receiver
    received,   ///< its frame has been taken off the lane
    delivered,  ///< its bytes are in the receiver's buffer and the receive is complete
    // Told to listeners only.
    kept,          ///< a message arrived before its receive, and waits for it
    matched_late,  ///< a receive has found such a message
};

inline constexpr std::size_t event_kinds = static_cast<std::size_t>(EventKind::matched_late) + 1;

/// What takes time beside the application's calls. The names are those of span_names.
enum class SpanKind : std::uint8_t {
    sleep,    ///< a thread inside MPI sleeps in a futex
    agent,    ///< the agent works for a rank
    help,     ///< another rank works for a rank
    copy,     ///< bytes of a long message are moved
    combine,  ///< a reduction step is computed
};

inline constexpr std::array<const char*, 5> span_names = {"asleep", "agent", "help", "copy",
                                                          "combine"};

/// One event, of fixed size. A call and a span are one record, written when they end.
///
/// A message is named by its receiver and by the header that its frame carries, so that what its
/// sender and its receiver record can be joined without either asking the other.
struct Record {
    std::int64_t begin_ns = 0;  ///< CLOCK_MONOTONIC: one clock for all processes of a node
    std::uint64_t amount = 0;   ///< nanoseconds of a call or span, bytes of a message
    std::uint32_t context = 0;
    std::int32_t source = 0;  ///< rank of the sender in the communicator
    std::int32_t tag = 0;
    std::uint32_t sequence = 0;
    std::uint32_t rank = 0;   ///< whom the event belongs to
    std::uint32_t peer = 0;   ///< receiver of a posted message; who works, of a span
    std::uint16_t index = 0;  ///< the function of a call, the SpanKind of a span
    EventKind kind = EventKind::call;
    std::uint8_t depth = 0;  ///< calls around this one: 1 for a call made by a callback
    std::uint32_t unused = 0;
};

inline constexpr std::size_t record_words = sizeof(Record) / sizeof(std::uint64_t);
using RecordWords = std::array<std::uint64_t, record_words>;
static_assert(sizeof(Record) == sizeof(RecordWords));

inline RecordWords words_of(const Record& record) noexcept
{
    return std::bit_cast<RecordWords>(record);
}

inline Record record_of(const RecordWords& words) noexcept
{
    return std::bit_cast<Record>(words);
}

}  // namespace headway::observe
