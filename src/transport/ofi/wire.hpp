// SPDX-License-Identifier: Apache-2.0
//
// What frames look like between nodes. Plain bytes, judged before anything in them is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "transport/frame.hpp"

namespace headway::transport::ofi {

/// Goes before the payload of every frame, in the byte order of the sender, which must be the
/// receiver's too: `magic` tells.
struct WireHeader {
    std::uint32_t magic = 0;
    std::uint16_t version = 0;
    FrameKind kind = FrameKind::none;  ///< none: the frame only says what was taken
    std::uint8_t flags = 0;
    std::uint64_t job = 0;    ///< number of the job; whoever does not know it is no member
    std::uint64_t taken = 0;  ///< bytes of frames from the receiver that the sender has taken, ever
    std::uint32_t sender = 0;  ///< rank in the job
    std::uint32_t number = 0;  ///< of the frame among those of (sender, receiver), around
    std::uint32_t payload_bytes = 0;
    FrameHeader message;
    std::uint32_t spare = 0;
};
static_assert(sizeof(WireHeader) == 56 && std::is_trivially_copyable_v<WireHeader>);

inline constexpr std::uint32_t wire_magic = 0x48'57'59'01;
inline constexpr std::uint16_t wire_version = 1;
/// Of WireHeader::flags: the sender takes no eager messages now.
inline constexpr std::uint8_t wire_is_full = 1;

enum class Verdict : std::uint8_t {
    good,
    foreign,     ///< of another job or program: nobody's concern
    byte_order,  ///< of a Headway whose machine stores numbers the other way round
    version,     ///< of a Headway that writes frames otherwise
    malformed,   ///< of this job, and yet it cannot be
};

/// Judges `bytes` received bytes. `header` is filled where there are enough for one. Only after
/// `good` may anything in it be used.
Verdict judge(const void* received, std::size_t bytes, std::uint64_t job, std::uint32_t rank_count,
              WireHeader* header) noexcept;

}  // namespace headway::transport::ofi
