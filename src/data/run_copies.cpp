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
constexpr std::uint64_t sets_stride = 32768;  // all lines want the same few places of a cache

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

/// The same without unrolling, as processors look for strides of one instruction. Where they do not
/// see the next run coming, it is fetched `ahead` runs before its turn, 0: not at all; behind the
/// last one that is a line of nobody, which is not looked at.
template <bool is_pack, std::int64_t ahead, typename Move>
void move_one_by_one(RunLoop loop, Stream<is_pack> stream, Move move)
{
    const auto lead = static_cast<std::uintptr_t>(loop.stride * ahead);
    constexpr int is_write = is_pack ? 0 : 1;
#pragma GCC unroll 1
    for (std::uint64_t i = 0; i < loop.count; ++i) {
        if constexpr (ahead != 0) {
            __builtin_prefetch(place(loop.address + lead), is_write);
        }
        move_run<is_pack>(loop.address, stream, move);
        loop.address += static_cast<std::uintptr_t>(loop.stride);
        stream += loop.step;
    }
}

/// The two halves of the loop at once, a run of each in turn.
template <typename Move>
void unpack_halves(RunLoop loop, Stream<false> stream, Move move)
{
    const std::uint64_t half = loop.count / 2;
    std::uintptr_t later = loop.address + half * static_cast<std::uintptr_t>(loop.stride);
    Stream<false> later_stream = stream + half * loop.step;
#pragma GCC unroll 1
    for (std::uint64_t i = 0; i < half; ++i) {
        move_run<false>(loop.address, stream, move);
        move_run<false>(later, later_stream, move);
        loop.address += static_cast<std::uintptr_t>(loop.stride);
        later += static_cast<std::uintptr_t>(loop.stride);
        stream += loop.step;
        later_stream += loop.step;
    }
    if (loop.count % 2 != 0) {
        move_run<false>(later, later_stream, move);
    }
}

/// Eight runs at a time: all are read, then all are written. Requires runs that are dense in the
/// stream. Gives back what is left.
template <std::size_t bytes>
RunLoop pack_groups(RunLoop loop, Stream<true>* stream)
{
    constexpr std::size_t runs = 8;
    for (; loop.count >= runs; loop.count -= runs) {
        std::byte group[bytes * runs];
        for (std::size_t i = 0; i < runs; ++i) {
            std::memcpy(group + i * bytes,
                        place(loop.address + i * static_cast<std::uintptr_t>(loop.stride)), bytes);
        }
        std::memcpy(*stream, group, sizeof group);
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
    if constexpr (is_pack) {
        if (distance >= far_stride) {
            return move_one_by_one<true, 3>(loop, stream, move);
        }
        if constexpr (is_grouped<bytes>) {
            if (loop.step == bytes) {
                loop = pack_groups<bytes>(loop, &stream);
            }
        }
    } else {
        if (distance >= sets_stride) {
            return unpack_halves(loop, stream, move);
        }
        if (distance >= far_stride) {
            return move_one_by_one<false, 0>(loop, stream, move);
        }
        if (distance >= sparse_stride) {
            return move_one_by_one<false, 64>(loop, stream, move);
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
