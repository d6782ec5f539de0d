// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headway::base {

/// What members of a job know and nobody else does.
struct Secret {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

/// The number that only who knows `secret` finds for `bytes` bytes at `data`: SipHash-2-4
/// (Aumasson, Bernstein, 2012). It proves who wrote the bytes and hides nothing. Words are read in
/// the machine's order: both sides must have the same.
inline std::uint64_t keyed_number(const Secret& secret, const void* data,
                                  std::size_t bytes) noexcept
{
    std::uint64_t a = secret.first ^ 0x736F'6D65'7073'6575U;
    std::uint64_t b = secret.second ^ 0x646F'7261'6E64'6F6DU;
    std::uint64_t c = secret.first ^ 0x6C79'6765'6E65'7261U;
    std::uint64_t d = secret.second ^ 0x7465'6462'7974'6573U;
    const auto stir = [&](int rounds) {
        for (int round = 0; round < rounds; ++round) {
            a += b;
            c += d;
            b = std::rotl(b, 13) ^ a;
            d = std::rotl(d, 16) ^ c;
            a = std::rotl(a, 32) + d;
            c += b;
            d = std::rotl(d, 21) ^ a;
            b = std::rotl(b, 17) ^ c;
            c = std::rotl(c, 32);
        }
    };
    const auto take = [&](std::uint64_t word) {
        d ^= word;
        stir(2);
        a ^= word;
    };
    const auto* const text = static_cast<const unsigned char*>(data);
    const std::size_t whole = bytes - bytes % sizeof(std::uint64_t);
    for (std::size_t at = 0; at < whole; at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text + at, sizeof word);
        take(word);
    }
    std::uint64_t rest = static_cast<std::uint64_t>(bytes) << 56;
    for (std::size_t at = whole; at < bytes; ++at) {
        rest |= std::uint64_t{text[at]} << (8 * (at - whole));
    }
    take(rest);
    c ^= 0xFF;
    stir(4);
    return a ^ b ^ c ^ d;
}

}  // namespace headway::base
