// SPDX-License-Identifier: Apache-2.0
#include "engine/attendance.hpp"

#include "engine/wait.hpp"
#include "platform/atomic.hpp"

namespace headway::engine {

std::uint32_t Attendance::first() const noexcept
{
    return meeting_.first_of(meeting_.group_of(scope_.rank));
}

std::uint32_t Attendance::end() const noexcept
{
    return meeting_.first_of(meeting_.group_of(scope_.rank) + 1);
}

/// True: the caller leads its group, which has come.
bool Attendance::arrive()
{
    platform::scheduling_point();
    return group_.members.arrive(end() - first());
}

void Attendance::wait_for_end()
{
    platform::scheduling_point();
    wait_until(
        driver_, [this] { return group_.members.is_over(round_); }, {}, 0, WaitReason::meeting);
}

void Attendance::wait_for_leads()
{
    if (meeting_.group_count == 1) {
        return;
    }
    platform::scheduling_point();
    group_.flag.show(round_, scope_.rank);
    // (3) sequentially consistent, pairs with itself: of the leads of a round the one that passes
    // it last sees all flags. And with (10) of ownership_word.hpp, as (1): who parks looks at the
    // flags afterwards.
    platform::RealAtomics::fence_full();
    if (have_all_come()) {
        for (std::uint32_t group = 0; group < meeting_.group_count; ++group) {
            wake(meeting_.groups[group].flag.who());
        }
    } else {
        platform::scheduling_point();
        wait_until(driver_, [this] { return have_all_come(); }, {}, 0, WaitReason::other_core);
    }
}

bool Attendance::have_all_come() const
{
    for (std::uint32_t group = 0; group < meeting_.group_count; ++group) {
        if (!meeting_.groups[group].flag.has_come(round_)) {
            return false;
        }
    }
    return true;
}

/// The others of the group may go on.
void Attendance::end_round()
{
    group_.members.end_round(round_);
    platform::scheduling_point();
    // (1) sequentially consistent, pairs with (10) of ownership_word.hpp: fence (9) there for all
    // members at once. Who parks looks at the round afterwards.
    platform::RealAtomics::fence_full();
    for (std::uint32_t member = first(); member < end(); ++member) {
        wake(member);
    }
}

void Attendance::wake(std::uint32_t member)
{
    if (member != scope_.rank) {
        driver_.node().rank_state(scope_.peer(member)).ownership.notify_parked_after_fence();
    }
}

}  // namespace headway::engine
