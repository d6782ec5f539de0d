// SPDX-License-Identifier: Apache-2.0
#include "engine/meeting.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/attendance.hpp"
#include "engine/board.hpp"
#include "platform/atomic.hpp"
#include "platform/memory_copy.hpp"

namespace headway::engine {

namespace {

/// A vector that is combined by leads, or nothing: a call of one member.
class ShortCall {
  public:
    ShortCall(Driver& driver, Meeting& meeting, const GraphTemplate& stored, const Scope& scope,
              const GraphArguments& arguments)
        : driver_(driver),
          meeting_(meeting),
          scope_(scope),
          arguments_(arguments),
          attendance_(driver, meeting, scope),
          bytes_(given_bytes(stored, arguments))
    {
        if (bytes_ != 0) {
            const bool is_in_place = stored.meeting.part.space == Space::receive;
            platform::copy_memory(part(scope.rank),
                                  is_in_place ? arguments.receive : arguments.send, bytes_);
        }
    }

    void run()
    {
        attendance_.attend([this](Meeting::Group& group) { combine(group); });
        if (bytes_ != 0) {
            const Meeting::Group& group = meeting_.groups[meeting_.group_of(scope_.rank)];
            platform::copy_memory(arguments_.receive, group.result, bytes_);
        }
    }

  private:
    std::byte* part(std::uint32_t member)
    {
        return meeting_.part(attendance_.round(), member, bytes_);
    }

    /// As a graph does it in which rank 0 takes the parts in one after the other.
    void combine(Meeting::Group& group)
    {
        if (bytes_ == 0) {
            return;
        }
        const std::uint64_t count = bytes_ / arguments_.element_bytes;
        // Parts are only read: who puts down the next one there still has the line.
        alignas(platform::cache_line_bytes) std::byte sums[2][meeting_bytes_max];
        std::memcpy(sums[0], part(0), bytes_);
        for (std::uint32_t member = 1; member < meeting_.size; ++member) {
            std::byte* const sum = sums[member % 2];
            std::memcpy(sum, part(member), bytes_);
            (void)run_reduction(driver_, arguments_.reduction, sums[(member - 1) % 2], sum, count);
        }
        std::memcpy(group.result, sums[(meeting_.size - 1) % 2], bytes_);
    }

    Driver& driver_;
    Meeting& meeting_;
    const Scope& scope_;
    const GraphArguments& arguments_;
    Attendance attendance_;
    const std::uint64_t bytes_;
};

bool is_short(const GraphTemplate& stored, const GraphArguments& arguments)
{
    return stored.meeting.what == Meets::combining &&
           given_bytes(stored, arguments) <= meeting_bytes_max;
}

/// Whether messages take less time than a board: each byte is for one member, and a board copies it
/// twice, a long message once, by the system. Among many members it counts for more that they all
/// come together.
bool is_better_sent(const Node& node, const GraphTemplate& stored, const Scope& scope,
                    const GraphArguments& arguments)
{
    constexpr std::uint32_t members_max = 8;
    constexpr std::uint64_t bytes_min = 1024 * 1024;
    return node.directory.cores_ask_each_other && stored.meeting.what == Meets::exchanging &&
           scope.size <= members_max && given_bytes(stored, arguments) >= bytes_min;
}

}  // namespace

Meeting* create_meeting(memory::Allocator& allocator, std::uint32_t size, std::size_t groups)
{
    void* const place = allocator.allocate(sizeof(Meeting) + 2 * size * sizeof(Meeting::Place));
    if (place == nullptr) {
        return nullptr;
    }
    auto* const meeting = new (place) Meeting;
    meeting->size = size;
    meeting->group_count = static_cast<std::uint32_t>(
        std::clamp<std::size_t>(groups, 1, std::min(size, Meeting::groups_max)));
    // Relaxed: the others get to know it by a message.
    meeting->users.store(size, std::memory_order_relaxed);
    for (std::uint32_t index = 0; index < 2 * size; ++index) {
        new (meeting->places() + index) Meeting::Place;
    }
    return meeting;
}

void leave_meeting(memory::Allocator& allocator, const Seat& seat)
{
    // (2) acquire and release, pairs with itself: who frees it comes after all that was done there.
    if (seat.meeting->users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        allocator.free(seat.board.bytes);  // all have the same, as they were in the same rounds
        allocator.free(seat.meeting);
    }
}

bool can_meet(const Node& node, const GraphTemplate& stored, const Scope& scope,
              const GraphArguments& arguments)
{
    const Meets what = stored.meeting.what;
    return what != Meets::never && what != Meets::collecting && what != Meets::halving &&
           node.directory.lets_meet && node.is_oversubscribed &&
           node.rank_count == node.job_rank_count && arguments.reduction.user_op == 0 &&
           (is_short(stored, arguments) || (can_use_board(stored, scope, arguments) &&
                                            !is_better_sent(node, stored, scope, arguments)));
}

bool meet(Driver& driver, Seat& seat, const GraphTemplate& stored, const Scope& scope,
          const GraphArguments& arguments)
{
    if (!is_short(stored, arguments)) {
        return meet_at_board(driver, seat, stored, scope, arguments);
    }
    ShortCall(driver, *seat.meeting, stored, scope, arguments).run();
    return true;
}

}  // namespace headway::engine
