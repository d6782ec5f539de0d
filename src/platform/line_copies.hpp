// SPDX-License-Identifier: Apache-2.0
//
// The loops of copy_cached(), a width of registers each; which one runs is up to the processor.
#pragma once

#include <cstddef>

namespace headway::platform {

// Each copies whole lines, asks for those up to `last` a KiB ahead, and returns how many bytes it
// has copied. The fewer instructions a line takes, the more lines a core has under way.

std::size_t copy_lines_by_16(std::byte* target, const std::byte* source, std::size_t count,
                             std::size_t last) noexcept;

#if defined(__x86_64__)
/// Requires: has_wide_registers().
[[gnu::target("avx2")]] std::size_t copy_lines_by_32(std::byte* target, const std::byte* source,
                                                     std::size_t count, std::size_t last) noexcept;
/// Requires: has_line_registers().
[[gnu::target("avx512f")]] std::size_t copy_lines_by_64(std::byte* target, const std::byte* source,
                                                        std::size_t count,
                                                        std::size_t last) noexcept;
#endif

}  // namespace headway::platform
