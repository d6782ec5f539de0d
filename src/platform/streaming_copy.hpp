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

#if defined(__x86_64__)
/// One line past the caches. Requires: the target begins one.
inline void stream_line(std::byte* target, const std::byte* source) noexcept
{
    const auto* from = reinterpret_cast<const __m128i*>(source);
    auto* to = reinterpret_cast<__m128i*>(target);
    const __m128i first = _mm_loadu_si128(from);
    const __m128i second = _mm_loadu_si128(from + 1);
    const __m128i third = _mm_loadu_si128(from + 2);
    const __m128i fourth = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, first);
    _mm_stream_si128(to + 1, second);
    _mm_stream_si128(to + 2, third);
    _mm_stream_si128(to + 3, fourth);
}
#endif

/// Copies past the caches: the lines written are not fetched first, from memory or from the core
/// that read them last. They are ordered before later releases.
///
/// A block goes line by line in several places at once: memory takes more of such stores than of
/// those to one place after the other. The places begin at different places of their pages: a Zen 3
/// lets a load wait for all streaming stores to the same place of any page, which takes ten times
/// as long where both ends begin alike (docs/design/013 has figures).
inline void copy_streaming(std::byte* target, const std::byte* source, std::size_t bytes) noexcept
{
#if defined(__x86_64__)
    constexpr std::size_t block_bytes_max = 64 * 1024;
    constexpr std::size_t places = 4;
    constexpr std::size_t apart_round = 1024;
    constexpr std::size_t apart_in_page = 3 * cache_line_bytes;
    const std::size_t behind_line = reinterpret_cast<std::uintptr_t>(target) % cache_line_bytes;
    if (behind_line != 0) [[unlikely]] {
        const std::size_t head = std::min(bytes, cache_line_bytes - behind_line);
        std::memcpy(target, source, head);
        target += head;
        source += head;
        bytes -= head;
    }
    while (bytes >= places * cache_line_bytes) {
        std::size_t apart = std::min(bytes, block_bytes_max) / places & ~(cache_line_bytes - 1);
        if (apart >= apart_round) {
            apart = (apart / apart_round - 1) * apart_round + apart_in_page;
        }
        for (std::size_t at = 0; at < apart; at += cache_line_bytes) {
            for (std::size_t place = 0; place < places; ++place) {
                stream_line(target + place * apart + at, source + place * apart + at);
            }
        }
        target += places * apart;
        source += places * apart;
        bytes -= places * apart;
    }
    std::memcpy(target, source, bytes);
    // Streaming stores are weakly ordered: without this a release would not cover them.
    _mm_sfence();
#else
    std::memcpy(target, source, bytes);
#endif
}

}  // namespace headway::platform
