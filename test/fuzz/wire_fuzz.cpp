// SPDX-License-Identifier: Apache-2.0
// Any bytes that arrive from a network are judged without harm, and what is judged good holds what
// its users rely on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "transport/ofi/wire.hpp"

namespace {

void demand(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace headway::transport;
    constexpr std::uint64_t job = 0x0123'4567'89AB'CDEF;
    constexpr std::uint32_t ranks = 5;
    ofi::WireHeader header;
    const ofi::Verdict verdict = ofi::judge(data, size, job, ranks, &header);
    if (verdict == ofi::Verdict::good) {
        demand(header.job == job && header.sender < ranks && header.kind < FrameKind::count);
        demand(header.payload_bytes + sizeof header == size);
    }
    // The same bytes from a member, so that what lies behind the first tests is reached.
    if (size >= sizeof header) {
        std::memcpy(&header, data, sizeof header);
        header.magic = ofi::wire_magic;
        header.version = ofi::wire_version;
        header.job = job;
        ofi::WireHeader again;
        const ofi::Verdict as_member = ofi::judge(&header, sizeof header, job, ranks, &again);
        demand(as_member == ofi::Verdict::good || as_member == ofi::Verdict::malformed);
        demand(as_member != ofi::Verdict::good || again.payload_bytes == 0);
    }
    return 0;
}
