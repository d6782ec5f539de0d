// SPDX-License-Identifier: Apache-2.0
// Which moves are best is a matter of how many lines, pages and translations a stride touches, so
// of memory and not of instructions; what was measured stands in docs/design/005.
#include "data/run_copies.hpp"

#include <cstring>
#include <type_traits>

#include "platform/row_copy.hpp"

namespace headway::data {

namespace {

// Strides in bytes from which on runs are copied in another way.
constexpr std::uint64_t sparse_stride = 128;  // every second line is touched, or fewer
constexpr std::uint64_t far_stride = 512;
constexpr std::uint64_t page_stride = 2048;

/// Runs that fill one register; others are moved one by one.
template <std::size_t bytes>
constexpr bool is_grouped = bytes <= 8;

template <bool is_pack>
using Stream = std::conditional_t<is_pack, std::byte*, const std::byte*>;

std::uint64_t distance_of(const RunLoop& loop)
{
    const auto stride = static_cast<std::uint64_t>(loop.stride);
    return loop.stride < 0 ? 0 - stride : stride;
}

std::byte* place(std::uintptr_t address)
{
    return reinterpret_cast<std::byte*>(address);
}

/// One run by `move(to, from)`.
template <bool is_pack, typename Move>
void move_run(std::uintptr_t address, Stream<is_pack> stream, Move move)
{
    if constexpr (is_pack) {
        move(stream, place(address));
    } else {
        move(place(address), stream);
    }
}

/// Each run by `move(to, from)`.
template <bool is_pack, typename Move>
void move_each(RunLoop loop, Stream<is_pack> stream, Move move)
{
#pragma GCC unroll 4
    for (std::uint64_t i = 0; i < loop.count; ++i) {
        move_run<is_pack>(loop.address, stream, move);
        loop.address += static_cast<std::uintptr_t>(loop.stride);
        stream += loop.step;
    }
}

/// The same where processors do not see the next run coming. It is fetched `ahead` runs before its
/// turn; behind the last one that is a line of nobody, which is not looked at.
template <bool is_pack, std::int64_t ahead, typename Move>
void move_each_fetched(RunLoop loop, Stream<is_pack> stream, Move move)
{
    const auto lead = static_cast<std::uintptr_t>(loop.stride * ahead);
    constexpr int is_write = is_pack ? 0 : 1;
    // Not unrolled: processors look for strides of one instruction.
    for (std::uint64_t i = 0; i < loop.count; ++i) {
        __builtin_prefetch(place(loop.address + lead), is_write);
        move_run<is_pack>(loop.address, stream, move);
        loop.address += static_cast<std::uintptr_t>(loop.stride);
        stream += loop.step;
    }
}

/// So many runs at a time: all are read, then all are written. Requires runs that are dense in the
/// stream. Gives back what is left.
template <bool is_pack, std::size_t bytes, std::size_t runs>
RunLoop move_groups(RunLoop loop, Stream<is_pack>* stream)
{
    const auto at = [&loop](std::size_t i) {
        return place(loop.address + i * static_cast<std::uintptr_t>(loop.stride));
    };
    for (; loop.count >= runs; loop.count -= runs) {
        std::byte group[bytes * runs];
        if constexpr (is_pack) {
            for (std::size_t i = 0; i < runs; ++i) {
                std::memcpy(group + i * bytes, at(i), bytes);
            }
            std::memcpy(*stream, group, sizeof group);
        } else {
            std::memcpy(group, *stream, sizeof group);
            // To the stack in truth: stores that hit a cache, between those that miss all of them,
            // let the misses overlap (72 us for 95).
            asm volatile("" : "+m"(group));
#pragma GCC unroll 16
            for (std::size_t i = 0; i < runs; ++i) {
                std::memcpy(at(i), group + i * bytes, bytes);
            }
        }
        loop.address += runs * static_cast<std::uintptr_t>(loop.stride);
        *stream += sizeof group;
    }
    return loop;
}

/// Runs of a size known to the compiler become single moves.
template <bool is_pack, std::size_t bytes>
void copy_fixed(RunLoop loop, Stream<is_pack> stream)
{
    const auto move = [](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); };
    const std::uint64_t distance = distance_of(loop);
    [[maybe_unused]] const bool is_dense = loop.step == bytes;
    if constexpr (is_pack) {
        if (distance >= far_stride) {
            return move_each_fetched<true, 3>(loop, stream, move);
        }
        if constexpr (is_grouped<bytes>) {
            if (is_dense) {
                loop = move_groups<true, bytes, 8>(loop, &stream);
            }
        }
    } else {
        if constexpr (is_grouped<bytes>) {
            if (is_dense && distance >= page_stride) {
                loop = move_groups<false, bytes, 8>(loop, &stream);
            } else if (is_dense && distance >= far_stride) {
                loop = move_groups<false, bytes, 16>(loop, &stream);
            }
        }
        if (distance >= sparse_stride && distance < far_stride) {
            return move_each_fetched<false, 64>(loop, stream, move);
        }
    }
    move_each<is_pack>(loop, stream, move);
}

/// Runs of half.. to 2 * half bytes, each by two moves that overlap.
template <bool is_pack, std::size_t half>
void copy_by_ends(const RunLoop& loop, Stream<is_pack> stream)
{
    move_each<is_pack>(loop, stream, [bytes = loop.bytes](std::byte* to, const std::byte* from) {
        platform::copy_both_ends<half>(to, from, bytes);
    });
}

template <bool is_pack>
void copy_long(const RunLoop& loop, Stream<is_pack> stream)
{
    if (loop.bytes >= platform::row_bytes_min && loop.bytes <= platform::row_bytes_max) {
        const platform::Rows memory{loop.address, loop.stride};
        const platform::Rows packed{reinterpret_cast<std::uintptr_t>(stream),
                                    static_cast<std::int64_t>(loop.step)};
        return is_pack ? copy_rows(packed, memory, loop.bytes, loop.count)
                       : copy_rows(memory, packed, loop.bytes, loop.count);
    }
    move_each<is_pack>(loop, stream, [bytes = loop.bytes](std::byte* to, const std::byte* from) {
        copy_run(to, from, bytes);
    });
}

template <bool is_pack>
void copy_runs(const RunLoop& loop, Stream<is_pack> stream)
{
    switch (loop.bytes) {
        case 1:
            return copy_fixed<is_pack, 1>(loop, stream);
        case 2:
            return copy_fixed<is_pack, 2>(loop, stream);
        case 4:
            return copy_fixed<is_pack, 4>(loop, stream);
        case 8:
            return copy_fixed<is_pack, 8>(loop, stream);
        case 12:
            return copy_fixed<is_pack, 12>(loop, stream);
        case 16:
            return copy_fixed<is_pack, 16>(loop, stream);
        case 24:
            return copy_fixed<is_pack, 24>(loop, stream);
        case 32:
            return copy_fixed<is_pack, 32>(loop, stream);
        default:
            break;
    }
    if (loop.bytes > 8 && loop.bytes < 64) {
        return loop.bytes > 32   ? copy_by_ends<is_pack, 32>(loop, stream)
               : loop.bytes > 16 ? copy_by_ends<is_pack, 16>(loop, stream)
                                 : copy_by_ends<is_pack, 8>(loop, stream);
    }
    copy_long<is_pack>(loop, stream);
}

}  // namespace

void pack_runs(const RunLoop& loop, std::byte* stream)
{
    copy_runs<true>(loop, stream);
}

void unpack_runs(const RunLoop& loop, const std::byte* stream)
{
    copy_runs<false>(loop, stream);
}

}  // namespace headway::data
