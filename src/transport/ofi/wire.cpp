// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/wire.hpp"

#include <cstring>

namespace headway::transport::ofi {

std::uint64_t proof_of(WireHeader header, const base::Secret& secret) noexcept
{
    header.proof = 0;
    return base::keyed_number(secret, &header, sizeof header);
}

Verdict judge(const void* received, std::size_t bytes, const Judge& by, WireHeader* header) noexcept
{
    if (bytes < sizeof *header) {
        return Verdict::foreign;
    }
    std::memcpy(header, received, sizeof *header);
    if (header->magic != wire_magic || header->version != wire_version ||
        !by.is_own(header->receiver) || header->proof != proof_of(*header, by.secret)) {
        return Verdict::foreign;
    }
    const bool is_whole = header->payload_bytes == bytes - sizeof *header ||
                          frame_distance(header->payload_bytes) + sizeof *header <= bytes;
    const bool has_sense = header->sender < by.rank_count && !by.is_own(header->sender) &&
                           header->kind < FrameKind::count &&
                           (header->kind != FrameKind::none || header->payload_bytes == 0);
    return is_whole && has_sense ? Verdict::good : Verdict::malformed;
}

}  // namespace headway::transport::ofi
