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
    constexpr ofi::Judge by = {.secret = {.first = 0x0123'4567'89AB'CDEF, .second = 7},
                               .own_rank = 2,
                               .own_count = 1,
                               .rank_count = 5};
    ofi::WireHeader header;
    const ofi::Verdict verdict = ofi::judge(data, size, by, &header);
    if (verdict == ofi::Verdict::good) {
        demand(header.sender < by.rank_count && header.sender != by.own_rank &&
               header.kind < FrameKind::count);
        demand(header.payload_bytes + sizeof header <= size);
    }
    // The same bytes from a member, so that what lies behind the first tests is reached.
    if (size >= sizeof header) {
        std::memcpy(&header, data, sizeof header);
        header.magic = ofi::wire_magic;
        header.version = ofi::wire_version;
        header.receiver = by.own_rank;
        header.proof = ofi::proof_of(header, by.secret);
        ofi::WireHeader again;
        const ofi::Verdict as_member = ofi::judge(&header, sizeof header, by, &again);
        demand(as_member == ofi::Verdict::good || as_member == ofi::Verdict::malformed);
        demand(as_member != ofi::Verdict::good || again.payload_bytes == 0);
    }
    return 0;
}
