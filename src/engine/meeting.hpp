// SPDX-License-Identifier: Apache-2.0
//
// Where ranks that share cores meet instead of telling each other by messages: each lays down what
// it gives and counts itself; when all have come, each takes what it gets. One for each
// communicator whose members do so, in the node heap.
//
// Members are counted in groups of neighbours: the last of a group leads it in the round. The leads
// show each other that their groups have come (sync/round_flag), and wake their group. User-level
// ranks make one group a core, as neighbours run on one core: so a core writes one line that others
// read, its flag, beside what its ranks lay down. Processes run where the system puts them, and a
// lead has to run once more to let its group go: one group. Of short vectors that are combined,
// leads combine the parts for their group.
//
// What is laid down lies there twice, in turn: who is let go may lay down the next while another
// one still takes, but not a third before that one has come again.
//
// What a graph says that its ranks may meet for (Graph::meet) has the same result either way, to
// the bit.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "engine/graph_engine.hpp"
#include "engine/seat.hpp"
#include "platform/cpu.hpp"
#include "sync/round_counter.hpp"
#include "sync/round_flag.hpp"

namespace headway::engine {

/// Most bytes of a vector that leads combine: a line for each member.
inline constexpr std::size_t meeting_bytes_max = 48;

struct Meeting {
    struct alignas(platform::cache_line_bytes) Place {
        /// A part, or some of neighbours. Written by their members, read by leads.
        std::byte bytes[platform::cache_line_bytes];
    };
    struct Group {
        sync::RoundCounter members;
        alignas(platform::cache_line_bytes) sync::RoundFlag flag;
        /// Written by the lead, when all of the group have taken what it held before; read by the
        /// group.
        alignas(platform::cache_line_bytes) std::byte result[meeting_bytes_max];
    };

    static constexpr std::uint32_t groups_max = 16;

    // Written when it is made.
    std::uint32_t size = 0;  ///< members
    std::uint32_t group_count = 1;
    /// Members that have not left for good. Counted down by each when its communicator ends.
    std::atomic<std::uint32_t> users{0};
    /// Member 0's, by the parity of the round. Written by it before it arrives in the first round
    /// of a call at the board; read by the others, who may have come to know a longer one or other
    /// lengths there, before they arrive in the next but one.
    Board boards[2];
    Group groups[groups_max];

    Place* places() noexcept { return reinterpret_cast<Place*>(this + 1); }
    /// Where `member` puts its part of `bytes` in `round`.
    std::byte* part(std::uint32_t round, std::uint32_t member, std::uint64_t bytes) noexcept
    {
        const std::uint32_t first = first_of(group_of(member));
        Place* const of_round = places() + std::size_t{round % 2} * size;
        return of_round[first].bytes + (member - first) * stride(bytes);
    }
    std::uint32_t group_of(std::uint32_t member) const noexcept
    {
        return static_cast<std::uint32_t>(std::uint64_t{member} * group_count / size);
    }
    /// Of one part to the next. A group that shares a core shares lines, too.
    std::uint64_t stride(std::uint64_t bytes) const noexcept
    {
        return group_count == 1 ? sizeof(Place) : std::bit_ceil(bytes);
    }
    /// The first member whose group is not before `group`.
    std::uint32_t first_of(std::uint32_t group) const noexcept
    {
        return static_cast<std::uint32_t>((std::uint64_t{group} * size + group_count - 1) /
                                          group_count);
    }
};

/// Of a communicator with `size` members in `groups` of neighbours, or as many as there may be, by
/// one of them, who tells the others. Null: the node heap is exhausted.
Meeting* create_meeting(memory::Allocator& allocator, std::uint32_t size, std::size_t groups);

/// Each member once, when it meets there no more; the last one frees it, and the board. Requires: a
/// seat at a meeting.
void leave_meeting(memory::Allocator& allocator, const Seat& seat);

/// Whether the call may be done by meeting; the same on all members. Requires: a call that blocks.
bool can_meet(const Node& node, const GraphTemplate& stored, const Scope& scope,
              const GraphArguments& arguments);

/// Does what the graphs of all members do. Blocks until all have come (in the one wait). False, for
/// all of them: nothing was done, as the node heap has no room for a board, or they have not named
/// the same number of bytes.
/// Requires: can_meet() of the same call on all members, no other call of theirs there, and a seat
/// at a meeting. Thread rule: a thread of the driver's rank.
[[nodiscard]] bool meet(Driver& driver, Seat& seat, const GraphTemplate& stored, const Scope& scope,
                        const GraphArguments& arguments);

}  // namespace headway::engine
