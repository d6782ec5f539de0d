// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace headway::platform {

/// The shortest and the longest rows for which copy_rows is worth a call: the C library's copy has
/// fewer branches for shorter ones, and instructions of the processor for longer ones.
inline constexpr std::size_t row_bytes_min = 64;
inline constexpr std::size_t row_bytes_max = 2048;

/// One side of a copy of rows: where the first one lies, and how far behind it the next one.
struct Rows {
    std::uintptr_t address = 0;
    std::int64_t stride = 0;
};

/// Copies `count` rows of `bytes` each, at least row_bytes_min, whose sides do not overlap.
void copy_rows(Rows to, Rows from, std::size_t bytes, std::uint64_t count) noexcept;

}  // namespace headway::platform
