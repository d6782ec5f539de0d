// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/wire.hpp"

#include <cstring>

namespace headway::transport::ofi {

Verdict judge(const void* received, std::size_t bytes, std::uint64_t job, std::uint32_t rank_count,
              WireHeader* header) noexcept
{
    if (bytes < sizeof *header) {
        return Verdict::foreign;
    }
    std::memcpy(header, received, sizeof *header);
    if (header->magic == __builtin_bswap32(wire_magic)) {
        return Verdict::byte_order;
    }
    if (header->magic != wire_magic) {
        return Verdict::foreign;
    }
    if (header->version != wire_version) {
        return Verdict::version;
    }
    if (header->job != job) {
        return Verdict::foreign;
    }
    const bool is_whole = header->payload_bytes == bytes - sizeof *header;
    const bool has_sense = header->sender < rank_count && header->kind < FrameKind::count &&
                           (header->kind != FrameKind::none || header->payload_bytes == 0);
    return is_whole && has_sense ? Verdict::good : Verdict::malformed;
}

}  // namespace headway::transport::ofi
