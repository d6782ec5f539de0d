// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/op.hpp"
#include "transport/peer_memory.hpp"

namespace headway::protocol {

/// Payload of a request_to_send: where the message is. Whoever takes it copies it from there and
/// then completes the sender's op, which lies in the node heap: no answer frame is needed.
struct Offer {
    engine::Op* send = nullptr;
    transport::Place source;
    std::uint64_t size_bytes = 0;
};
static_assert(sizeof(Offer) <= transport::inline_bytes_max);

}  // namespace headway::protocol
