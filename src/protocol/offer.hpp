// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/op.hpp"
#include "protocol/tickets.hpp"
#include "transport/network.hpp"
#include "transport/peer_memory.hpp"
#include "transport/shm/reading_choice.hpp"

namespace headway::protocol {

/// Payload of a request_to_send: where the message is. Whoever takes it on the same node copies it
/// from there and completes the sender's op, which lies in the node heap: no answer is needed.
struct Offer {
    engine::Op* send = nullptr;
    transport::Place source;
    std::uint64_t size_bytes = 0;
    /// With a number the sender leaves it to a receiver who waits to read the message at once, and
    /// wants to be told what that costs (ReadingChoice).
    transport::shm::ReadingAsked reading;
};
static_assert(sizeof(Offer) <= transport::inline_bytes_max);

/// Of a send of any rank that has made one.
inline Offer offer_in(const engine::Op& send) noexcept
{
    Offer offer;
    std::memcpy(&offer, send.record, sizeof offer);
    return offer;
}

/// Payload of a clear_to_send, the answer to an offer where all that ranks tell each other travels
/// in frames: where the bytes are to go.
struct ClearToSend {
    engine::Op* send = nullptr;
    engine::Op* receive = nullptr;
    transport::Place target;
    std::uint64_t bytes = 0;
};
static_assert(sizeof(ClearToSend) <= transport::inline_bytes_max);

/// Payload of a delivered: the bytes that were asked for are there.
struct Delivered {
    engine::Op* receive = nullptr;
    engine::OpError error = engine::OpError::none;
};

/// Payload of a distant_offer: a message of a rank of another node.
struct DistantOffer {
    Ticket send = 0;
    std::uint64_t size_bytes = 0;
    transport::Exposure exposure;  ///< where its bytes can be read, if they can
    std::uint64_t push = 0;        ///< number under which they are on their way; 0: they are not
};
static_assert(sizeof(DistantOffer) <= transport::inline_bytes_max);

/// What is kept of it until its receive comes.
struct KeptOffer {
    DistantOffer offer;
    std::uint32_t sender = 0;
};

/// Payload of a distant_request, the answer to it. A request for no bytes only says that the
/// message has been received.
struct DistantRequest {
    Ticket send = 0;
    Ticket receive = 0;
    std::uint64_t bytes = 0;
};
static_assert(sizeof(DistantRequest) <= transport::inline_bytes_max);

}  // namespace headway::protocol
