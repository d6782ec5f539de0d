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
          group_(meeting.group_of(scope.rank)),
          bytes_(part_bytes(stored, arguments))
    {
        if (bytes_ != 0) {
            const bool is_in_place = stored.meeting.part.space == Space::receive;
            std::memcpy(place(scope.rank).part, is_in_place ? arguments.receive : arguments.send,
                        bytes_);
        }
    }

    void run()
    {
        Meeting::Group& group = meeting_.groups[group_];
        const std::uint32_t round = group.members.current();
        const std::uint32_t first = meeting_.first_of(group_);
        const std::uint32_t end = meeting_.first_of(group_ + 1);
        platform::scheduling_point();
        if (group.members.arrive(end - first)) {
            group.lead = scope_.rank;
            lead();
            group.members.end_round(round);
            wake([first, end](const auto& wake_one) {
                for (std::uint32_t member = first; member < end; ++member) {
                    wake_one(member);
                }
            });
        } else {
            wait_for_end(group.members, round);
        }
        if (bytes_ != 0) {
            std::memcpy(arguments_.receive, meeting_.result, bytes_);
        }
    }

  private:
    Meeting::Place& place(std::uint32_t member) { return meeting_.places()[member]; }

    /// As a graph does it in which rank 0 takes the parts in one after the other.
    void combine()
    {
        if (bytes_ == 0) {
            return;
        }
        const std::uint64_t count = bytes_ / arguments_.element_bytes;
        for (std::uint32_t member = 1; member < meeting_.size; ++member) {
            (void)run_reduction(driver_, arguments_.reduction, place(member - 1).part,
                                place(member).part, count);
        }
        std::memcpy(meeting_.result, place(meeting_.size - 1).part, bytes_);
    }

    /// The caller's group has come.
    void lead()
    {
        const std::uint32_t round = meeting_.leads.current();
        platform::scheduling_point();
        if (!meeting_.leads.arrive(meeting_.group_count)) {
            wait_for_end(meeting_.leads, round);
            return;
        }
        combine();
        // Read before they are let go: the next round has leads of its own.
        std::uint32_t leads[Meeting::groups_max];
        const std::uint32_t count = meeting_.group_count;
        for (std::uint32_t group = 0; group < count; ++group) {
            leads[group] = meeting_.groups[group].lead;
        }
        meeting_.leads.end_round(round);
        wake([&leads, count](const auto& wake_one) {
            for (std::uint32_t group = 0; group < count; ++group) {
                wake_one(leads[group]);
            }
        });
    }

    void wait_for_end(const sync::RoundCounter& counter, std::uint32_t round)
    {
        platform::scheduling_point();
        wait_until(
            driver_, [&counter, round] { return counter.is_over(round); }, {}, 0,
            WaitReason::meeting);
    }

    /// Those who sleep, of all but the caller that `for_each` names.
    template <typename ForEach>
    void wake(const ForEach& for_each)
    {
        platform::scheduling_point();
        // (1) sequentially consistent, pairs with (10) of ownership_word.hpp: fence (9) there for
        // all members at once. Who parks looks at the round afterwards.
        platform::RealAtomics::fence_full();
        for_each([this](std::uint32_t member) {
            if (member != scope_.rank) {
                driver_.node()
                    .rank_state(scope_.peer(member))
                    .ownership.notify_parked_after_fence();
            }
        });
    }

    Driver& driver_;
    Meeting& meeting_;
    const Scope& scope_;
    const GraphArguments& arguments_;
    const std::uint32_t group_;
    const std::uint64_t bytes_;
};

}  // namespace

Meeting* create_meeting(memory::Allocator& allocator, std::uint32_t size, std::size_t groups)
{
    void* const place = allocator.allocate(sizeof(Meeting) + size * sizeof(Meeting::Place));
    if (place == nullptr) {
        return nullptr;
    }
    auto* const meeting = new (place) Meeting;
    meeting->size = size;
    meeting->group_count = static_cast<std::uint32_t>(
        std::clamp<std::size_t>(groups, 1, std::min(size, Meeting::groups_max)));
    // Relaxed: the others get to know it by a message.
    meeting->users.store(size, std::memory_order_relaxed);
    for (std::uint32_t member = 0; member < size; ++member) {
        new (meeting->places() + member) Meeting::Place;
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
