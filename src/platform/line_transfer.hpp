// SPDX-License-Identifier: Apache-2.0
//
// Means for bytes that one core has written and another one reads.
#pragma once

#include <cstddef>
#include <cstring>

#include "platform/cpu.hpp"
#include "platform/memory_copy.hpp"
#include "platform/short_copy.hpp"

namespace headway::platform {

/// memcpy() of bytes that are in a cache, but not in this core's own: asks for their lines a KiB
/// ahead, as they take longer than a processor looks ahead by itself. From memory it gains only
/// where source and target begin alike in their pages. docs/design/011 has figures.
void copy_cached(std::byte* target, const std::byte* source, std::size_t count) noexcept;

/// Copies bytes that another core has written; `is_cached`: to where copy_cached() finds them.
inline void copy_arrived(void* target, const void* source, std::size_t count,
                         bool is_cached) noexcept
{
    constexpr std::size_t asked_bytes_min = 1024;
    if (is_cached && count > asked_bytes_min) {
        copy_cached(static_cast<std::byte*>(target), static_cast<const std::byte*>(source), count);
    } else {
        copy_short(target, source, count);
    }
}

/// Copies bytes to lines that another core read last, and reads next: by the processor's own
/// instruction where that is quick, without the detours of memcpy().
void copy_departing(std::byte* target, const std::byte* source, std::size_t count) noexcept;

/// Whether this processor has an instruction that hands a line on to the cache that all its cores
/// share (CLDEMOTE: Intel's servers from Sapphire Rapids on). Those that have it need it: lines
/// that another core has written take them five times as long as those of the shared cache.
bool can_demote_lines() noexcept;

/// Hands the lines of some bytes just written on to the shared cache. A hint: elsewhere nothing.
/// Requires: can_demote_lines() was asked, as tools that run programs may not know the instruction.
inline void demote_lines(const std::byte* bytes, std::size_t count) noexcept
{
#if defined(__x86_64__)
    for (std::size_t at = 0; at < count; at += cache_line_bytes) {
        asm volatile("cldemote %0" : : "m"(bytes[at]));
    }
#else
    (void)bytes;
    (void)count;
#endif
}

/// Asks for the lines of some bytes, which come while the caller goes on.
inline void fetch_lines(const std::byte* bytes, std::size_t count) noexcept
{
    for (std::size_t at = 0; at < count; at += cache_line_bytes) {
        __builtin_prefetch(bytes + at);
    }
}

/// memcpy() by the processor's own instruction for it, which asks for many lines of the target at
/// once. For a KiB and more: it takes some time to begin. Its stores come in any order, but all of
/// them before later ones.
inline void copy_as_string(std::byte* target, const std::byte* source, std::size_t count) noexcept
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    asm volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(count) : : "memory");
#else
    std::memcpy(target, source, count);
#endif
}

}  // namespace headway::platform
