// SPDX-License-Identifier: Apache-2.0
#include "platform/line_transfer.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "platform/line_copies.hpp"

namespace headway::platform {

namespace {

constexpr std::size_t ahead = 1024;

}  // namespace

std::size_t copy_lines_by_16(std::byte* target, const std::byte* source, std::size_t count,
                             std::size_t last) noexcept
{
    std::size_t at = 0;
    for (; at + cache_line_bytes <= count; at += cache_line_bytes) {
        __builtin_prefetch(source + std::min(at + ahead, last));
        copy_line(target + at, source + at);
    }
    return at;
}

#if defined(__x86_64__)

[[gnu::target("avx2")]] std::size_t copy_lines_by_32(std::byte* target, const std::byte* source,
                                                     std::size_t count, std::size_t last) noexcept
{
    std::size_t at = 0;
    for (; at + cache_line_bytes <= count; at += cache_line_bytes) {
        __builtin_prefetch(source + std::min(at + ahead, last));
        const auto* const from = reinterpret_cast<const __m256i*>(source + at);
        auto* const to = reinterpret_cast<__m256i*>(target + at);
        const __m256i first = _mm256_loadu_si256(from);
        const __m256i second = _mm256_loadu_si256(from + 1);
        _mm256_storeu_si256(to, first);
        _mm256_storeu_si256(to + 1, second);
    }
    return at;
}

[[gnu::target("avx512f")]] std::size_t copy_lines_by_64(std::byte* target, const std::byte* source,
                                                        std::size_t count,
                                                        std::size_t last) noexcept
{
    std::size_t at = 0;
    for (; at + cache_line_bytes <= count; at += cache_line_bytes) {
        __builtin_prefetch(source + std::min(at + ahead, last));
        _mm512_storeu_si512(target + at, _mm512_loadu_si512(source + at));
    }
    return at;
}

#endif

namespace {

/// What the processor says of its instructions (CPUID, leaf 7). A virtual machine may take long to
/// answer.
struct Instructions {
    unsigned ecx = 0;
    unsigned edx = 0;
};
Instructions ask_processor() noexcept
{
    Instructions said;
#if defined(__x86_64__)
    constexpr unsigned leaf = 7;
    unsigned eax = 0;
    unsigned ebx = 0;
    (void)__get_cpuid_count(leaf, 0, &eax, &ebx, &said.ecx, &said.edx);
#endif
    return said;
}

/// Whether its instruction for copies is quick (FSRM).
bool has_quick_strings() noexcept
{
    constexpr unsigned quick_bit = 1U << 4;
    static const bool has_them = (ask_processor().edx & quick_bit) != 0;
    return has_them;
}

}  // namespace

bool can_demote_lines() noexcept
{
    constexpr unsigned demotes_bit = 1U << 25;
    return (ask_processor().ecx & demotes_bit) != 0;
}

void copy_cached(std::byte* target, const std::byte* source, std::size_t count) noexcept
{
    std::size_t at = 0;
    if (count > cache_line_bytes) {
        const std::size_t last = count - cache_line_bytes;
#if defined(__x86_64__)
        at = has_line_registers()   ? copy_lines_by_64(target, source, count, last)
             : has_wide_registers() ? copy_lines_by_32(target, source, count, last)
                                    : copy_lines_by_16(target, source, count, last);
#else
        at = copy_lines_by_16(target, source, count, last);
#endif
    }
    std::memcpy(target + at, source + at, count - at);
}

void copy_departing(std::byte* target, const std::byte* source, std::size_t count) noexcept
{
    constexpr std::size_t quick_bytes_min = 2 * string_copy_bytes_min;  // they take long to begin
    if (count >= quick_bytes_min && !is_slow_for_strings(target, source) && has_quick_strings()) {
        copy_as_string(target, source, count);
    } else {
        copy_memory(target, source, count);
    }
}

}  // namespace headway::platform
