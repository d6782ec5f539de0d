// SPDX-License-Identifier: Apache-2.0
#include "engine/meeting.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/wait.hpp"
#include "platform/atomic.hpp"

namespace headway::engine {

namespace {

std::uint64_t part_bytes(const GraphTemplate& stored, const GraphArguments& arguments)
{
    return stored.meeting.part.block_count * arguments.count * arguments.element_bytes;
}

/// One call of one member.
class Call {
  public:
    Call(Driver& driver, Meeting& meeting, const GraphTemplate& stored, const Scope& scope,
         const GraphArguments& arguments)
        : driver_(driver),
          meeting_(meeting),
          scope_(scope),
          arguments_(arguments),
          group_(meeting.groups[meeting.group_of(scope.rank)]),
          round_(group_.members.current()),
          bytes_(part_bytes(stored, arguments))
    {
        if (bytes_ != 0) {
            const bool is_in_place = stored.meeting.part.space == Space::receive;
            std::memcpy(part(scope.rank), is_in_place ? arguments.receive : arguments.send, bytes_);
        }
    }

    void run()
    {
        const std::uint32_t number = meeting_.group_of(scope_.rank);
        const std::uint32_t first = meeting_.first_of(number);
        const std::uint32_t end = meeting_.first_of(number + 1);
        platform::scheduling_point();
        if (group_.members.arrive(end - first)) {
            lead();
            group_.members.end_round(round_);
            wake_group(first, end);
        } else {
            platform::scheduling_point();
            wait_until(
                driver_, [this] { return group_.members.is_over(round_); }, {}, 0,
                WaitReason::meeting);
        }
        if (bytes_ != 0) {
            std::memcpy(arguments_.receive, group_.result, bytes_);
        }
    }

  private:
    std::byte* part(std::uint32_t member) { return meeting_.part(round_, member, bytes_); }

    /// As a graph does it in which rank 0 takes the parts in one after the other.
    void combine()
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
        std::memcpy(group_.result, sums[(meeting_.size - 1) % 2], bytes_);
    }

    /// The caller's group has come.
    void lead()
    {
        if (meeting_.group_count > 1) {
            platform::scheduling_point();
            group_.flag.show(round_, scope_.rank);
            // (3) sequentially consistent, pairs with itself: of the leads of a round the one that
            // passes it last sees all flags. And with (10) of ownership_word.hpp, as (1): who parks
            // looks at the flags afterwards.
            platform::RealAtomics::fence_full();
            if (have_all_come()) {
                wake_leads();
            } else {
                platform::scheduling_point();
                wait_until(
                    driver_, [this] { return have_all_come(); }, {}, 0, WaitReason::other_core);
            }
        }
        combine();
    }

    bool have_all_come() const
    {
        for (std::uint32_t group = 0; group < meeting_.group_count; ++group) {
            if (!meeting_.groups[group].flag.has_come(round_)) {
                return false;
            }
        }
        return true;
    }

    /// Those of other groups, who may sleep.
    void wake_leads()
    {
        for (std::uint32_t group = 0; group < meeting_.group_count; ++group) {
            wake(meeting_.groups[group].flag.who());
        }
    }

    /// The others of the caller's group, which it has let go.
    void wake_group(std::uint32_t first, std::uint32_t end)
    {
        platform::scheduling_point();
        // (1) sequentially consistent, pairs with (10) of ownership_word.hpp: fence (9) there for
        // all members at once. Who parks looks at the round afterwards.
        platform::RealAtomics::fence_full();
        for (std::uint32_t member = first; member < end; ++member) {
            wake(member);
        }
    }

    void wake(std::uint32_t member)
    {
        if (member != scope_.rank) {
            driver_.node().rank_state(scope_.peer(member)).ownership.notify_parked_after_fence();
        }
    }

    Driver& driver_;
    Meeting& meeting_;
    const Scope& scope_;
    const GraphArguments& arguments_;
    Meeting::Group& group_;
    const std::uint32_t round_;
    const std::uint64_t bytes_;
};

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

void leave_meeting(memory::Allocator& allocator, Meeting* meeting)
{
    // (2) acquire and release, pairs with itself: who frees it comes after all that was done there.
    if (meeting->users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        allocator.free(meeting);
    }
}

bool can_meet(const Node& node, const GraphTemplate& stored, const GraphArguments& arguments)
{
    return stored.meeting.is_there && node.directory.lets_meet && node.is_oversubscribed &&
           node.rank_count == node.job_rank_count && arguments.reduction.user_op == 0 &&
           part_bytes(stored, arguments) <= meeting_bytes_max;
}

void meet(Driver& driver, Meeting& meeting, const GraphTemplate& stored, const Scope& scope,
          const GraphArguments& arguments)
{
    Call(driver, meeting, stored, scope, arguments).run();
}

}  // namespace headway::engine
