// SPDX-License-Identifier: Apache-2.0
#include "engine/board.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "data/reduce.hpp"
#include "engine/attendance.hpp"
#include "platform/cpu.hpp"
#include "platform/memory_copy.hpp"

namespace headway::engine {

namespace {

constexpr std::uint64_t line_bytes = platform::cache_line_bytes;

/// Halves are as long as the first call that needs one wants them, within these.
constexpr std::uint64_t half_bytes_min = 64 * 1024;
constexpr std::uint64_t half_bytes_max = 4 * 1024 * 1024;

/// About what the cache of a core keeps while its ranks take it one after the other.
constexpr std::uint64_t stretch_bytes_max = 512 * 1024;

/// From how many bytes on a board is worth it.
std::uint64_t bytes_min(Meets what)
{
    switch (what) {
        case Meets::spreading:
            // Below, a vector goes in frames, and its root is through long before the others come.
            return 16 * 1024 + 1;
        case Meets::combining:
            return 16 * 1024;  // two rounds cost more than the messages of shorter vectors
        default:
            return 1;
    }
}

/// Of a sum that stays in a core's first cache while all vectors go by.
constexpr std::uint64_t sum_bytes = 8 * 1024;

/// A call that needs more rounds takes as long by messages.
constexpr std::uint64_t rounds_max = 64;

/// Members lay nothing down for themselves, but each stretch has a place for it.
std::uint64_t stretches(Meets what, std::uint64_t members)
{
    switch (what) {
        case Meets::spreading:
            return 1;
        case Meets::exchanging:
            return members * members;
        default:
            return members;
    }
}

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/// How a call uses the board: the same for all members that name the same number of bytes.
struct Plan {
    std::uint64_t half_bytes = 0;     ///< that it wants
    std::uint64_t bytes = 0;          ///< of one block, or of the vector
    std::uint64_t stretch_bytes = 0;  ///< of each in a round, if it gets them
};

/// Of each block or vector in a round. Whole elements where these are combined; of what is only
/// moved members may name other elements, but as many bytes.
std::uint64_t stretch_bytes(Meets what, std::uint64_t half_bytes, std::uint64_t count,
                            std::uint64_t element_bytes)
{
    const std::uint64_t room = std::min(half_bytes / count, stretch_bytes_max);
    const std::uint64_t lines = room / line_bytes * line_bytes;
    return what == Meets::combining ? lines / element_bytes * element_bytes : lines;
}

/// Requires: something is given.
Plan plan_of(const GraphTemplate& stored, const Scope& scope, const GraphArguments& arguments)
{
    const std::uint64_t count = stretches(stored.meeting.what, scope.size);
    Plan plan{.bytes = given_bytes(stored, arguments)};
    const std::uint64_t each = round_up(std::min(plan.bytes, stretch_bytes_max), line_bytes);
    plan.half_bytes = std::clamp(std::bit_ceil(count * each), half_bytes_min, half_bytes_max);
    plan.stretch_bytes = std::min(plan.bytes, stretch_bytes(stored.meeting.what, plan.half_bytes,
                                                            count, arguments.element_bytes));
    return plan;
}

bool fits(const Plan& plan)
{
    return plan.stretch_bytes != 0 && plan.bytes <= rounds_max * plan.stretch_bytes;
}

/// A call of one member.
class LongCall {
  public:
    LongCall(Driver& driver, Seat& seat, const GraphTemplate& stored, const Scope& scope,
             const GraphArguments& arguments)
        : driver_(driver),
          seat_(seat),
          meeting_(stored.meeting),
          scope_(scope),
          arguments_(arguments),
          plan_(plan_of(stored, scope, arguments)),
          attendance_(driver, *seat.meeting, scope)
    {
        const bool is_given_from_receive = meeting_.part.space == Space::receive;
        source_ = is_given_from_receive ? receive() : static_cast<const std::byte*>(arguments.send);
        source_ += meeting_.part.first_block * plan_.bytes;
        is_in_place_ = is_given_from_receive;
    }

    bool run()
    {
        if (plan_.half_bytes > seat_.board.wanted_bytes && !enlarge()) {
            return false;
        }
        stretch_bytes_ = std::min(plan_.bytes, stretch_bytes(meeting_.what, seat_.board.half_bytes,
                                                             count(), arguments_.element_bytes));
        if (stretch_bytes_ == 0) {
            return false;
        }
        for (std::uint64_t offset = 0; offset < plan_.bytes; offset += stretch_bytes_) {
            const Stretch stretch{offset, std::min(stretch_bytes_, plan_.bytes - offset)};
            half_ = half(attendance_.round());
            lay_down(stretch);
            if (!attend()) {
                return false;
            }
            take(stretch);
        }
        return true;
    }

  private:
    /// Of each block, or of the vector.
    struct Stretch {
        std::uint64_t offset;
        std::uint64_t bytes;
    };

    std::uint64_t count() const { return stretches(meeting_.what, scope_.size); }
    std::byte* receive() const { return static_cast<std::byte*>(arguments_.receive); }
    std::byte* half(std::uint32_t round) const
    {
        return seat_.board.bytes + round % 2 * seat_.board.half_bytes;
    }
    std::byte* place(std::byte* half, std::uint64_t number) const
    {
        return half + number * round_up(stretch_bytes_, line_bytes);
    }
    std::byte* place(std::uint64_t number) const { return place(half_, number); }

    /// The next round; in the first one all say how many bytes they name. False, for all of them:
    /// not the same number, so some may have come to make the board longer and others not.
    bool attend()
    {
        if (has_compared_) [[likely]] {
            attendance_.attend();
            return true;
        }
        has_compared_ = true;
        const std::uint32_t round = attendance_.round();
        std::memcpy(word(round, scope_.rank), &plan_.bytes, sizeof plan_.bytes);
        if (scope_.rank == 0) {
            seat_.meeting->boards[round % 2] = seat_.board;
        }
        attendance_.attend();
        for (std::uint32_t member = 0; member < scope_.size; ++member) {
            if (std::memcmp(word(round, member), &plan_.bytes, sizeof plan_.bytes) != 0) {
                seat_.board = seat_.meeting->boards[round % 2];
                return false;
            }
        }
        return true;
    }
    std::byte* word(std::uint32_t round, std::uint32_t member) const
    {
        return seat_.meeting->part(round, member, sizeof plan_.bytes);
    }

    /// Member 0 makes a longer board, if there is room, and all come to know it. False: as
    /// attend().
    bool enlarge()
    {
        std::byte* former = nullptr;
        seat_.board.wanted_bytes = plan_.half_bytes;
        if (scope_.rank == 0) {
            void* const made = driver_.allocator().allocate(2 * plan_.half_bytes);
            if (made != nullptr) {
                former = std::exchange(seat_.board.bytes, static_cast<std::byte*>(made));
                seat_.board.half_bytes = plan_.half_bytes;
            }
        }
        const std::uint32_t round = attendance_.round();
        const bool are_alike = attend();
        // All have taken what they had from the former one.
        driver_.allocator().free(former);
        seat_.board = seat_.meeting->boards[round % 2];
        return are_alike;
    }

    /// Places follow from the length that the member names. Where members name other ones these
    /// overlap, inside the half, and nobody reads what is there: all compare lengths before.
    void lay_down(Stretch stretch)
    {
        const std::byte* const from = source_ + stretch.offset;
        if (meeting_.what == Meets::exchanging) {
            for (std::uint32_t to = 0; to < scope_.size; ++to) {
                if (to != scope_.rank) {
                    platform::copy_memory(place(std::uint64_t{scope_.rank} * scope_.size + to),
                                          from + to * plan_.bytes, stretch.bytes);
                }
            }
        } else if (meeting_.what == Meets::combining) {
            // Its slice it combines itself.
            const Slice own = own_slice(stretch);
            std::byte* const to = place(scope_.rank);
            platform::copy_memory(to, from, own.begin);
            platform::copy_memory(to + own.end, from + own.end, stretch.bytes - own.end);
        } else if (meeting_.what == Meets::gathering) {
            platform::copy_memory(place(scope_.rank), from, stretch.bytes);
        } else if (meeting_.root == scope_.rank) {
            platform::copy_memory(place(0), from, stretch.bytes);
        }
    }

    void take(Stretch stretch)
    {
        std::byte* const to = receive() + stretch.offset;
        switch (meeting_.what) {
            case Meets::combining: {
                const Slice own = own_slice(stretch);
                const std::byte* const result = combine(stretch, own, to);
                platform::copy_memory(to, result, own.begin);
                platform::copy_memory(to + own.end, result + own.end, stretch.bytes - own.end);
                break;
            }
            case Meets::spreading:
                if (meeting_.root != scope_.rank) {
                    platform::copy_memory(to, place(0), stretch.bytes);
                }
                break;
            default:
                take_blocks(stretch);
        }
    }

    /// Of all members, the next ones first: not all from the same one.
    void take_blocks(Stretch stretch)
    {
        const bool is_for_all = meeting_.what == Meets::gathering;
        for (std::uint32_t step = 1; step < scope_.size; ++step) {
            const std::uint32_t from = (scope_.rank + step) % scope_.size;
            platform::copy_memory(
                receive() + from * plan_.bytes + stretch.offset,
                place(is_for_all ? from : std::uint64_t{from} * scope_.size + scope_.rank),
                stretch.bytes);
        }
        if (!is_in_place_) {
            const std::byte* const own =
                source_ + (is_for_all ? 0 : scope_.rank * plan_.bytes) + stretch.offset;
            platform::copy_memory(receive() + scope_.rank * plan_.bytes + stretch.offset, own,
                                  stretch.bytes);
        }
    }

    /// Bytes of a stretch that are combined by this member.
    struct Slice {
        std::uint64_t begin;
        std::uint64_t end;
    };

    Slice own_slice(Stretch stretch) const
    {
        const std::uint64_t elements = stretch.bytes / arguments_.element_bytes;
        const auto bound = [&](std::uint64_t member) {
            return elements * member / scope_.size * arguments_.element_bytes;
        };
        return {bound(scope_.rank), bound(scope_.rank + 1)};
    }

    /// Each member combines a slice of all vectors, in rank order. Where the result lies, in the
    /// other half, as all have taken what that one held before; the own slice also at `to`.
    const std::byte* combine(Stretch stretch, Slice own, std::byte* to)
    {
        std::byte* const result = place(half(attendance_.round()), 0);
        const std::byte* const mine = source_ + stretch.offset;
        const std::uint64_t step =
            std::max<std::uint64_t>(1, sum_bytes / arguments_.element_bytes) *
            arguments_.element_bytes;
        for (std::uint64_t at = own.begin; at < own.end; at += step) {
            const std::uint64_t bytes = std::min(step, own.end - at);
            combine_part(result + at, mine + at, at, bytes / arguments_.element_bytes);
            platform::copy_memory(to + at, result + at, bytes);
        }
        attendance_.attend();
        return result;
    }

    /// Vectors are only read: who puts down the next ones there still has their lines.
    void combine_part(std::byte* result, const std::byte* mine, std::uint64_t offset,
                      std::uint64_t count)
    {
        const auto run = data::reduce_kernel(arguments_.reduction.op, arguments_.reduction.kind);
        const auto part_of = [&](std::uint32_t member) {
            return member == scope_.rank ? mine : place(member) + offset;
        };
        const std::byte* sum = part_of(0);
        for (std::uint32_t member = 1; member < scope_.size; ++member) {
            run(sum, part_of(member), result, count);
            sum = result;
        }
    }

    Driver& driver_;
    Seat& seat_;
    const GraphMeeting& meeting_;
    const Scope& scope_;
    const GraphArguments& arguments_;
    const Plan plan_;
    Attendance attendance_;
    const std::byte* source_ = nullptr;
    bool is_in_place_ = false;
    bool has_compared_ = false;
    std::uint64_t stretch_bytes_ = 0;
    std::byte* half_ = nullptr;  ///< of the round
};

}  // namespace

std::uint64_t given_bytes(const GraphTemplate& stored, const GraphArguments& arguments)
{
    return stored.meeting.part.block_count == 0 ? 0 : arguments.count * arguments.element_bytes;
}

bool can_use_board(const GraphTemplate& stored, const Scope& scope, const GraphArguments& arguments)
{
    const auto is_listed = [](const auto& blocks) { return !blocks.empty(); };
    if (given_bytes(stored, arguments) < bytes_min(stored.meeting.what) || scope.size < 3 ||
        std::ranges::any_of(arguments.listed, is_listed)) {
        return false;
    }
    return fits(plan_of(stored, scope, arguments));
}

bool meet_at_board(Driver& driver, Seat& seat, const GraphTemplate& stored, const Scope& scope,
                   const GraphArguments& arguments)
{
    return LongCall(driver, seat, stored, scope, arguments).run();
}

}  // namespace headway::engine
