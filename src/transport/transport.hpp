// SPDX-License-Identifier: Apache-2.0
//
// The transport concept. A transport only moves frames between two ranks and knows nothing of
// messages. It never calls up: the engine posts, polls and releases. Every transport keeps the
// frames of one (sender, receiver) pair in order.
//
// All state is plain data in the node heap, so whoever holds a rank's ownership word can work its
// transports. Thread rule: one executor at a time a sender's side, one a receiver's side.
#pragma once

#include <concepts>
#include <cstddef>

#include "base/status.hpp"
#include "transport/frame.hpp"

namespace headway::transport {

/// The sending half towards one peer and the receiving half of all peers.
///   post      done: the payload has been copied out, the caller may reuse it.
///             retry_*: nothing happened; the reason says what must free up first.
///             Requires payload_bytes <= frame_bytes_max().
///   poll      the oldest unreleased frame of some peer, or false.
///   release   gives back the frame of the last successful poll, exactly once.
template <typename T>
concept Transport = requires(T endpoint, FrameKind kind, FrameHeader header, const void* payload,
                             std::size_t bytes, Frame& frame) {
    { endpoint.post(kind, header, payload, bytes) } -> std::same_as<base::Status>;
    { endpoint.poll(frame) } -> std::same_as<bool>;
    { endpoint.release() } -> std::same_as<void>;
    { T::frame_bytes_max() } -> std::same_as<std::size_t>;
};

}  // namespace headway::transport
