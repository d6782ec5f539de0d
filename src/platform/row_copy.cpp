// SPDX-License-Identifier: Apache-2.0
#include "platform/row_copy.hpp"

#include <cstring>

#include "platform/cpu.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headway::platform {

namespace {

const std::byte* bytes_at(const Rows& rows) noexcept
{
    return reinterpret_cast<const std::byte*>(rows.address);
}

std::byte* room_at(const Rows& rows) noexcept
{
    return reinterpret_cast<std::byte*>(rows.address);
}

void advance(Rows* rows) noexcept
{
    rows->address += static_cast<std::uintptr_t>(rows->stride);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) inline void move_32(std::byte* to, const std::byte* from) noexcept
{
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

__attribute__((target("avx2"))) inline void move_128(std::byte* to, const std::byte* from) noexcept
{
    const auto* source = reinterpret_cast<const __m256i*>(from);
    const __m256i first = _mm256_loadu_si256(source);
    const __m256i second = _mm256_loadu_si256(source + 1);
    const __m256i third = _mm256_loadu_si256(source + 2);
    const __m256i fourth = _mm256_loadu_si256(source + 3);
    auto* target = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(target, first);
    _mm256_storeu_si256(target + 1, second);
    _mm256_storeu_si256(target + 2, third);
    _mm256_storeu_si256(target + 3, fourth);
}

/// Rows seldom begin at a cache line. Of moves of 32 bytes every second one then touches two
/// lines, of moves of 64 every one, and the C library aligns each row anew.
__attribute__((target("avx2"))) void copy_by_32(Rows to, Rows from, std::size_t bytes,
                                                std::uint64_t count) noexcept
{
    for (; count > 0; --count, advance(&to), advance(&from)) {
        const std::byte* source = bytes_at(from);
        std::byte* target = room_at(to);
        std::size_t rest = bytes;
        for (; rest >= 128; rest -= 128, source += 128, target += 128) {
            move_128(target, source);
        }
        for (; rest >= 32; rest -= 32, source += 32, target += 32) {
            move_32(target, source);
        }
        if (rest != 0) {  // with some bytes again, as a row is longer than one move
            move_32(target + rest - 32, source + rest - 32);
        }
    }
}

#endif

}  // namespace

void copy_rows(Rows to, Rows from, std::size_t bytes, std::uint64_t count) noexcept
{
#if defined(__x86_64__)
    if (has_wide_registers()) {
        copy_by_32(to, from, bytes, count);
        return;
    }
#endif
    for (; count > 0; --count, advance(&to), advance(&from)) {
        std::memcpy(room_at(to), bytes_at(from), bytes);
    }
}

}  // namespace headway::platform
