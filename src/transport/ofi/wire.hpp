// SPDX-License-Identifier: Apache-2.0
//
// What frames look like between nodes. Plain bytes, judged before anything in them is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/secret.hpp"
#include "transport/frame.hpp"

namespace headway::transport::ofi {

/// Goes before the payload of every frame, in the byte order of the sender, which must be the
/// receiver's too: members compare it with the version of their libraries before the first frame.
struct WireHeader {
    std::uint32_t magic = 0;
    std::uint16_t version = 0;
    FrameKind kind = FrameKind::none;  ///< none: the frame only says what was taken
    std::uint8_t flags = 0;
    std::uint64_t proof = 0;  ///< keyed number of the rest, by the job's secret
    std::uint32_t taken = 0;  ///< bytes of frames from the receiver that the sender took, around
    std::uint32_t pushes_taken = 0;  ///< likewise of what the receiver has pushed
    std::uint32_t sender = 0;        ///< rank in the job
    std::uint32_t receiver = 0;      ///< likewise: what was meant for another rank is worth nothing
    std::uint32_t number = 0;        ///< of the frame among those of (sender, receiver), around
    std::uint32_t payload_bytes = 0;
    FrameHeader message;
};
static_assert(sizeof(WireHeader) == 56 && std::is_trivially_copyable_v<WireHeader> &&
                  std::has_unique_object_representations_v<WireHeader>,
              "the proof covers every byte");

inline constexpr std::uint32_t wire_magic = 0x48'57'59'01;
inline constexpr std::uint16_t wire_version = 5;
/// Frames that travel together begin at multiples of it.
inline constexpr std::size_t frame_alignment = 8;
/// Where the next frame begins in a packet of which `bytes` are used.
constexpr std::size_t next_frame(std::size_t bytes) noexcept
{
    return (bytes + frame_alignment - 1) & ~(frame_alignment - 1);
}
/// From the beginning of a frame to that of the next one in the packet.
constexpr std::size_t frame_distance(std::size_t payload_bytes) noexcept
{
    return next_frame(sizeof(WireHeader) + payload_bytes);
}
/// Of WireHeader::flags: the sender takes no eager messages now.
inline constexpr std::uint8_t wire_is_full = 1;

/// What `header` has as its proof if a member of the job has written it.
std::uint64_t proof_of(WireHeader header, const base::Secret& secret) noexcept;

enum class Verdict : std::uint8_t {
    good,
    foreign,    ///< of somebody who does not know the secret: nobody's concern
    malformed,  ///< of a member, and yet it cannot be
};

/// Who judges: a process of the job, and what it knows.
struct Judge {
    base::Secret secret;
    std::uint32_t own_rank = 0;  ///< its first
    std::uint32_t own_count = 1;
    std::uint32_t rank_count = 0;

    bool is_own(std::uint32_t rank) const noexcept
    {
        return rank >= own_rank && rank - own_rank < own_count;
    }
};

/// Judges the first frame of `bytes` received bytes; it is the last one, or there is room for
/// another header behind it. `header` is filled where there are enough for one. Only after `good`
/// may anything in it be used.
Verdict judge(const void* received, std::size_t bytes, const Judge& by,
              WireHeader* header) noexcept;

}  // namespace headway::transport::ofi
