// SPDX-License-Identifier: Apache-2.0
#include "data/record_moves.hpp"

#include <cstring>
#include <type_traits>
#include <utility>

namespace headway::data {

namespace {

using Moves = RecordMoves::Moves;

template <bool is_pack>
using Stream = std::conditional_t<is_pack, std::byte*, const std::byte*>;

template <bool is_pack, std::size_t bytes>
void make_move(const RecordMoves::Move& move, std::uintptr_t address, Stream<is_pack> stream)
{
    auto* const inside =
        reinterpret_cast<std::byte*>(address + static_cast<std::uintptr_t>(move.inside));
    if constexpr (is_pack) {
        std::memcpy(stream + move.outside, inside, bytes);
    } else {
        std::memcpy(inside, stream + move.outside, bytes);
    }
}

template <bool is_pack, std::uint32_t used>
void copy(const Moves& given, std::uintptr_t address, std::int64_t stride, Stream<is_pack> stream,
          std::size_t step, std::uint64_t count)
{
    const Moves moves = given;  // which no byte of an element can be
    const auto copy_one = [&]<std::size_t... index>(std::index_sequence<index...>) {
        const auto move_if = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
            if constexpr ((used >> i & 1U) != 0) {
                make_move<is_pack, RecordMoves::sizes[i]>(moves[i], address, stream);
            }
        };
        (move_if(std::integral_constant<std::size_t, index>()), ...);
    };
#pragma GCC unroll 2
    for (std::uint64_t i = 0; i < count; ++i) {
        copy_one(std::make_index_sequence<RecordMoves::sizes.size()>());
        address += static_cast<std::uintptr_t>(stride);
        stream += step;
    }
}

template <bool is_pack>
using Copy = void (*)(const Moves&, std::uintptr_t, std::int64_t, Stream<is_pack>, std::size_t,
                      std::uint64_t);

template <bool is_pack>
Copy<is_pack> copy_of(std::uint32_t used)
{
    constexpr std::size_t kinds = std::size_t{1} << RecordMoves::sizes.size();
    static constexpr auto table = []<std::size_t... used_of>(std::index_sequence<used_of...>) {
        return std::array<Copy<is_pack>, kinds>{&copy<is_pack, used_of>...};
    }(std::make_index_sequence<kinds>());
    return table[used];
}

}  // namespace

/// At a free place of that size, where there is one behind those used before.
bool RecordMoves::place(std::size_t bytes, const Move& move, std::size_t* after)
{
    for (const std::size_t first : {*after, std::size_t{0}}) {
        for (std::size_t i = first; i < sizes.size(); ++i) {
            if (sizes[i] == bytes && (used_ >> i & 1U) == 0) {
                moves_[i] = move;
                used_ |= 1U << i;
                *after = i;
                return true;
            }
        }
    }
    return false;
}

std::optional<RecordMoves> RecordMoves::find(const ProgramView& program,
                                             std::span<const TypePart> parts)
{
    RecordMoves found;
    std::size_t after = 0;
    for (const TypePart& part : parts) {
        std::uint64_t rest = program.nodes[part.node].packed_bytes;
        Move move{part.offset, part.packed_before};
        for (const std::size_t bytes : {16UL, 8UL, 4UL, 1UL}) {
            for (; rest >= bytes; rest -= bytes) {
                if (!found.place(bytes, move, &after)) {
                    return std::nullopt;
                }
                move.inside += static_cast<std::int64_t>(bytes);
                move.outside += bytes;
            }
        }
    }
    return found;
}

void RecordMoves::pack(std::uintptr_t address, std::int64_t stride, std::byte* stream,
                       std::size_t step, std::uint64_t count) const
{
    copy_of<true>(used_)(moves_, address, stride, stream, step, count);
}

void RecordMoves::unpack(std::uintptr_t address, std::int64_t stride, const std::byte* stream,
                         std::size_t step, std::uint64_t count) const
{
    copy_of<false>(used_)(moves_, address, stride, stream, step, count);
}

}  // namespace headway::data
