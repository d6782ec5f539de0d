// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "platform/cpu.hpp"

namespace headway::platform {

/// Copies by string instructions are those of the kernel, and of glibc before 2.39 from so many
/// bytes on.
inline constexpr std::size_t string_copy_bytes_min = 4096;

/// Whether they are slow from `source` to `target`: where the target begins 1 to 31 bytes behind
/// the source, modulo a page, AMD's processors from Zen 2 to Zen 4 take twenty times as long, 64
/// KiB 35 us instead of 1.7. Two buffers that malloc() gave one after the other lie so
/// (docs/design/013).
inline bool is_slow_for_strings(const void* target, const void* source) noexcept
{
    constexpr std::uintptr_t page = 4096;
    constexpr std::uintptr_t quick_again = 32;
    const std::uintptr_t behind =
        (reinterpret_cast<std::uintptr_t>(target) - reinterpret_cast<std::uintptr_t>(source)) %
        page;
    return behind - 1 < quick_again - 1;
}

/// A line, wherever it begins. In code that a compiler takes for seldom run it makes string
/// instructions of memcpy().
inline void copy_line(std::byte* target, const std::byte* source) noexcept
{
#if defined(__x86_64__)
    const auto* const from = reinterpret_cast<const __m128i*>(source);
    auto* const to = reinterpret_cast<__m128i*>(target);
    const __m128i first = _mm_loadu_si128(from);
    const __m128i second = _mm_loadu_si128(from + 1);
    const __m128i third = _mm_loadu_si128(from + 2);
    const __m128i fourth = _mm_loadu_si128(from + 3);
    _mm_storeu_si128(to, first);
    _mm_storeu_si128(to + 1, second);
    _mm_storeu_si128(to + 2, third);
    _mm_storeu_si128(to + 3, fourth);
#else
    std::memcpy(target, source, cache_line_bytes);
#endif
}

/// memcpy() without string instructions: what copy_memory() does where they are slow. Out of line,
/// for it is seldom run, and GCC 12 held its loop against short arrays that never come to it.
void copy_by_lines(std::byte* target, const std::byte* source, std::size_t bytes) noexcept;

/// memcpy() of any length, as quick wherever the two ends begin.
inline void copy_memory(void* target, const void* source, std::size_t bytes) noexcept
{
    if (bytes < string_copy_bytes_min || !is_slow_for_strings(target, source)) [[likely]] {
        std::memcpy(target, source, bytes);
        return;
    }
    copy_by_lines(static_cast<std::byte*>(target), static_cast<const std::byte*>(source), bytes);
}

}  // namespace headway::platform
