// SPDX-License-Identifier: Apache-2.0
// Copies of runs, alone and in loops: what all packing comes down to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/short_copy.hpp"

namespace headway::data {

/// Runs of irregular types are short: a call of the C library takes longer than the copy.
inline void copy_run(std::byte* to, const std::byte* from, std::size_t size)
{
    if (size > 32 && size <= 64) {
        platform::copy_both_ends<32>(to, from, size);
    } else {
        platform::copy_short(to, from, size);
    }
}

/// Equal runs at equal distances, in memory and in the stream.
struct RunLoop {
    std::size_t bytes = 0;  ///< of each run
    std::uint64_t count = 0;
    std::uintptr_t address = 0;  ///< of the first run in memory
    std::int64_t stride = 0;     ///< from one run to the next in memory
    std::size_t step = 0;        ///< the same in the stream; at least `bytes`
};

void pack_runs(const RunLoop& loop, std::byte* stream);
void unpack_runs(const RunLoop& loop, const std::byte* stream);

}  // namespace headway::data
