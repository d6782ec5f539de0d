// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace headway::transport {

/// What a frame asks of its receiver: the index of the handler that a protocol registered with
/// the engine. Fits the eight spare bits of a cell's state word; zero is never sent.
enum class FrameKind : std::uint8_t {
    none = 0,
    eager,            ///< header names the message, payload is the message
    request_to_send,  ///< header names the message, payload is a protocol::Offer
    clear_to_send,    ///< payload is a protocol::ClearToSend: where the bytes are to go
    delivered,        ///< payload is a protocol::Delivered: they are there
    piece,            ///< payload is an engine::StagedPiece: bytes of a long message

    // From ranks of other nodes come only eager frames and these.
    given_up,         ///< header names a collective's message that does not come; no payload
    distant_offer,    ///< header names the message, payload is a protocol::DistantOffer
    distant_request,  ///< payload is a protocol::DistantRequest: the bytes are wanted
    distant_bytes,    ///< header is a protocol::Ticket, payload the next bytes of its message
    distant_note,     ///< payload is an object::NoteParts::Part: what the sender says of a call
    count,
};

/// Names a message. Fixed from the start for all lanes, so that a message can be matched wherever
/// it came along.
///
/// Point-to-point: (context, source, tag); `sequence` counts the messages of (sender, receiver) in
/// an observed job and is 0 in others. Collective steps: `sequence` is the number of the
/// collective on its communicator and `tag` the slot in its graph.
///
/// By value on its way out: a header that has an address is stored word by word and loaded as a
/// whole, which waits until the stores before it have left the core (docs/design/011).
struct FrameHeader {
    std::uint32_t context = 0;
    std::int32_t source = 0;  ///< rank in the communicator
    std::int32_t tag = 0;
    std::uint32_t sequence = 0;
};

/// Bytes of a frame that travel in the same cache line as its header.
inline constexpr std::size_t inline_bytes_max = 40;

/// A payload that lies nowhere as its bytes travel: it is made in its place, piece after piece.
struct MadePayload {
    /// Makes bytes [from, to) at `place`.
    void (*make)(const void* source, std::uint64_t from, std::uint64_t to, std::byte* place);
    const void* source;
    std::uint64_t bytes;
};

/// A received frame. The views are valid until release().
struct Frame {
    FrameKind kind = FrameKind::none;
    FrameHeader header;
    const std::byte* payload = nullptr;
    std::uint32_t payload_bytes = 0;
    bool is_cached = false;  ///< long, and in a cache, but not in the receiver's own

    /// Reads a payload that is one plain record.
    template <typename Record>
    Record record() const noexcept
    {
        static_assert(std::is_trivially_copyable_v<Record>);
        Record value;
        std::memcpy(&value, payload, sizeof(Record));
        return value;
    }
};

}  // namespace headway::transport
