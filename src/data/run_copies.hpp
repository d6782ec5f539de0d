// SPDX-License-Identifier: Apache-2.0
// Copies of runs, alone and in loops: what all packing comes down to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headway::data {

/// Two moves that may overlap cover any size up to twice theirs.
template <std::size_t bytes>
void copy_ends(std::byte* to, const std::byte* from, std::size_t size)
{
    std::byte first[bytes];
    std::byte last[bytes];
    std::memcpy(first, from, bytes);
    std::memcpy(last, from + size - bytes, bytes);
    std::memcpy(to, first, bytes);
    std::memcpy(to + size - bytes, last, bytes);
}

/// Runs of irregular types are short: a call of the C library takes longer than the copy.
inline void copy_run(std::byte* to, const std::byte* from, std::size_t size)
{
    if (size > 64) {
        std::memcpy(to, from, size);
    } else if (size > 32) {
        copy_ends<32>(to, from, size);
    } else if (size > 16) {
        copy_ends<16>(to, from, size);
    } else if (size >= 8) {
        copy_ends<8>(to, from, size);
    } else if (size >= 4) {
        copy_ends<4>(to, from, size);
    } else {
        for (std::size_t i = 0; i < size; ++i) {
            to[i] = from[i];
        }
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
