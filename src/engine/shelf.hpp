// SPDX-License-Identifier: Apache-2.0
//
// Where members of a communicator lay down the bytes of a call instead of sending them: who gives
// writes one line and goes on, who gets looks there when it comes. A message to each would be a
// frame, a match and a look at a lane for each. Of calls with a root (bcast, scatter, gather,
// reduce) it is one who gives, or who gets; of the others (barrier, allgather, allreduce, alltoall)
// each gives and gets, so that none ends before all have come: those are for a few members that
// have a core each, as who shares one better meets the others once (engine/meeting). In the node
// heap, up to three for each communicator whose members do so. One is for few bytes. Two are for
// the blocks of scatters, gathers and reductions among ranks that share cores: who gives copies
// them in while it has a core, who gets copies them out while it has one. The longer the blocks,
// the fewer calls there is room for; very long ones go in several stretches, each as a call of its
// own.
//
// All members count such calls, so all know in which compartment a call's bytes lie. Compartments
// are used in turn, in two halves: who is about to lay something down in a half waits until all
// have ended the calls that it served before. So a member runs ahead of another one by a half at
// least, and looks at the others once a half.
//
// Who sleeps until a line is written, or a half free, is not forgotten: sync/growing_mark.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/driver.hpp"
#include "engine/scope.hpp"
#include "engine/seat.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

struct Reduction;

inline constexpr std::uint32_t shelf_members_max = 64;

/// Of reductions among members with a core each: the root alone combines what all others gave, for
/// more of them it is outrun by a tree.
inline constexpr std::uint32_t shelf_lone_reduce_members_max = 16;
/// Of calls in which each gives and gets: each reads a line of each, for more of them messages in
/// rounds are fewer.
inline constexpr std::uint32_t shelf_exchange_members_max = 8;

/// Of shelves for longer blocks.
inline constexpr std::uint32_t shelf_block_members_max = 16;
inline constexpr std::uint64_t shelf_page_bytes_max = 8 * 1024;
inline constexpr std::uint64_t shelf_stretch_bytes_max = 64 * 1024;  ///< in one compartment
inline constexpr std::uint64_t shelf_block_bytes_max = 16 * shelf_stretch_bytes_max;

/// Bytes of a call that a shelf for few has room for.
constexpr std::uint64_t shelf_call_bytes(std::uint64_t members) noexcept
{
    return std::max<std::uint64_t>(1024, platform::cache_line_bytes * members);
}
/// Of those, for one of several members that give.
constexpr std::uint64_t shelf_share_bytes(std::uint64_t members) noexcept
{
    return shelf_call_bytes(members) / members / platform::cache_line_bytes *
           platform::cache_line_bytes;
}

/// For a communicator with `members`, by one of them, who tells the others. Null: the node heap is
/// exhausted. Requires: can_have_shelf().
Shelf* create_shelf(memory::Allocator& allocator, ShelfSize size, std::uint32_t members);

/// Each member once, when it uses it no more; the last one frees it.
void leave_shelf(memory::Allocator& allocator, Shelf& shelf);

/// A call of one member.
struct ShelfCall {
    enum class Kind : std::uint8_t {
        bcast,      ///< the root's receive buffer goes to all
        scatter,    ///< a block of its send buffer to each
        gather,     ///< a block of each goes to the root
        reduce,     ///< the same, combined in rank order: halves, each combined so before
        barrier,    ///< nobody goes on before all have come
        allgather,  ///< a block of each goes to all
        allreduce,  ///< the same, combined as by reduce
        alltoall,   ///< a block of each send buffer to each
    };
    static constexpr std::size_t kinds = 8;
    static constexpr bool has_root(Kind kind) noexcept { return kind < Kind::barrier; }

    Kind kind = Kind::bcast;
    bool keeps_own = false;  ///< whose own block is where it belongs: the root's, or anybody's
    std::uint32_t root = 0;  ///< if it has one
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;
    std::uint64_t bytes = 0;               ///< of one block
    std::uint64_t element_bytes = 1;       ///< of reductions: what is never parted
    const Reduction* reduction = nullptr;  ///< of those; no user's operation
};

/// Whether members of a communicator may have one; the same on all.
bool can_have_shelf(const Node& node, ShelfSize size, const Scope& scope);

/// Whether a shelf for few bytes has room for a call; the same on all members that name the same
/// number of bytes, as is what shelf_for() says.
inline bool fits_on_shelf(ShelfCall::Kind kind, std::uint64_t bytes, std::uint64_t members)
{
    switch (kind) {
        case ShelfCall::Kind::bcast:
            return bytes <= shelf_call_bytes(members);
        case ShelfCall::Kind::scatter:
            return bytes <= shelf_call_bytes(members) / members;
        case ShelfCall::Kind::alltoall:
            return bytes <= shelf_share_bytes(members) / members;
        default:
            return bytes <= shelf_share_bytes(members);
    }
}

/// Of the members of a communicator; the same on all of them.
struct MemberCores {
    bool are_shared = true;       ///< else messages reduce long vectors as fast, or faster
    bool ask_each_other = false;  ///< Directory::cores_ask_each_other

    static MemberCores of(const Node& node) noexcept
    {
        return {.are_shared = node.is_oversubscribed,
                .ask_each_other = node.directory.cores_ask_each_other};
    }
};

/// The shelf that is for a call, if any: vectors that are for all go over a board (engine/board)
/// where cores are shared, and long blocks from or to a root are read where they lie if each copy
/// of them is dear.
inline std::optional<ShelfSize> shelf_for(ShelfCall::Kind kind, std::uint64_t bytes,
                                          std::uint64_t members, MemberCores cores)
{
    if (!ShelfCall::has_root(kind)) {
        return !cores.are_shared && members <= shelf_exchange_members_max &&
                       fits_on_shelf(kind, bytes, members)
                   ? std::optional(ShelfSize::lines)
                   : std::nullopt;
    }
    if (kind == ShelfCall::Kind::reduce && !cores.are_shared &&
        (members > shelf_lone_reduce_members_max || !fits_on_shelf(kind, bytes, members))) {
        return std::nullopt;
    }
    if (kind != ShelfCall::Kind::reduce && cores.ask_each_other &&
        bytes > shelf_stretch_bytes_max) {
        return std::nullopt;
    }
    if (fits_on_shelf(kind, bytes, members)) {
        return ShelfSize::lines;
    }
    if (kind == ShelfCall::Kind::bcast || bytes > shelf_block_bytes_max) {
        return std::nullopt;
    }
    return bytes <= shelf_page_bytes_max ? ShelfSize::pages : ShelfSize::blocks;
}

/// Does what the call says. Who gives does not wait for who gets, unless it is far ahead.
/// Truncated: more was given than this member has room for, and it has the beginning; it has not
/// ended the call, which it may repeat, or leave by skip_on_shelf().
/// Requires: a shelf, the same kind of call with the same root on all members, one that fits, no
/// other call of theirs there. Thread rule: a thread of the driver's rank, for which it may wait.
OpError use_shelf(Driver& driver, ShelfSeat& seat, const Scope& scope, const ShelfCall& call);
void skip_on_shelf(Driver& driver, ShelfSeat& seat, const Scope& scope, const ShelfCall& call);

}  // namespace headway::engine
