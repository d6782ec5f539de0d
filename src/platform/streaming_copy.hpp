// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "platform/cpu.hpp"

namespace headway::platform {

/// Copies past the caches: the lines written are not fetched first, from memory or from the core
/// that read them last. They are ordered before later releases.
inline void copy_streaming(std::byte* target, const std::byte* source, std::size_t bytes) noexcept
{
#if defined(__x86_64__)
    const std::size_t behind_line = reinterpret_cast<std::uintptr_t>(target) % cache_line_bytes;
    if (behind_line != 0) [[unlikely]] {
        const std::size_t head = std::min(bytes, cache_line_bytes - behind_line);
        std::memcpy(target, source, head);
        target += head;
        source += head;
        bytes -= head;
    }
    const std::size_t whole = bytes & ~(cache_line_bytes - 1);
    for (std::size_t at = 0; at < whole; at += cache_line_bytes) {
        const auto* from = reinterpret_cast<const __m128i*>(source + at);
        auto* to = reinterpret_cast<__m128i*>(target + at);
        const __m128i first = _mm_loadu_si128(from);
        const __m128i second = _mm_loadu_si128(from + 1);
        const __m128i third = _mm_loadu_si128(from + 2);
        const __m128i fourth = _mm_loadu_si128(from + 3);
        _mm_stream_si128(to, first);
        _mm_stream_si128(to + 1, second);
        _mm_stream_si128(to + 2, third);
        _mm_stream_si128(to + 3, fourth);
    }
    std::memcpy(target + whole, source + whole, bytes - whole);
    // Streaming stores are weakly ordered: without this a release would not cover them.
    _mm_sfence();
#else
    std::memcpy(target, source, bytes);
#endif
}

}  // namespace headway::platform
