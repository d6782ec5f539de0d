// SPDX-License-Identifier: Apache-2.0
// What lies in the lines of a lane.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sync/spsc_cells.hpp"
#include "transport/frame.hpp"

namespace headway::transport::shm {

inline constexpr std::size_t lane_lines = 64;

/// What the words of a message hold. Written by the sender before it publishes, read by the
/// receiver. Half a line has room for the beginning of the payload only.
struct CellContent {
    FrameHeader header;
    std::byte inline_payload[inline_bytes_max];
};
static_assert(sizeof(CellContent) == sync::SpscCells<lane_lines>::whole_bytes);

/// Payloads up to here travel in half a line.
inline constexpr std::size_t half_payload_bytes_max =
    sync::SpscCells<lane_lines>::half_bytes - sizeof(FrameHeader);

/// In the place of the inline payload.
struct Beside {
    std::uint64_t end = 0;  ///< position in the byte ring; the size says where it begins
    std::uint32_t payload_bytes : 31 = 0;
    std::uint32_t is_cached : 1 = 0;  ///< Frame::is_cached
    std::uint32_t step_bytes = 0;     ///< of each step but the last
};
static_assert(sizeof(Beside) == 16);

/// How a sender shows a payload to a receiver who waits for it.
enum class Showing : std::uint8_t {
    in_steps,   ///< cores that share a cache
    announced,  ///< cores that ask each other for what they have written
};

/// A frame that is being written.
struct EarlyFrame {
    FrameHeader header;
    std::uint32_t payload_bytes = 0;  ///< of the whole frame
    std::uint32_t early_bytes = 0;    ///< that are there; 0: it is only announced
    const std::byte* payload = nullptr;
    bool is_cached = false;  ///< Frame::is_cached
};

}  // namespace headway::transport::shm
