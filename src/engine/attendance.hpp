// SPDX-License-Identifier: Apache-2.0
//
// How a member goes through the rounds of a meeting (engine/meeting.hpp).
#pragma once

#include <cstdint>

#include "engine/driver.hpp"
#include "engine/meeting.hpp"
#include "engine/scope.hpp"

namespace headway::engine {

/// Of one member, for one call. Thread rule: a thread of the driver's rank.
class Attendance {
  public:
    Attendance(Driver& driver, Meeting& meeting, const Scope& scope)
        : driver_(driver),
          meeting_(meeting),
          scope_(scope),
          group_(meeting.groups[meeting.group_of(scope.rank)]),
          round_(group_.members.current())
    {
    }

    /// Which the member is about to arrive in.
    std::uint32_t round() const noexcept { return round_; }

    /// Arrives, and returns when all have come (in the one wait): what they wrote before is to be
    /// seen. Leads call `for_group(group)` then, before they let their group go.
    template <typename ForGroup>
    void attend(ForGroup&& for_group)
    {
        if (arrive()) {
            wait_for_leads();
            for_group(group_);
            end_round();
        } else {
            wait_for_end();
        }
        ++round_;
    }
    void attend()
    {
        attend([](Meeting::Group& /*group*/) {});
    }

  private:
    bool arrive();
    void wait_for_leads();
    void wait_for_end();
    void end_round();
    bool have_all_come() const;
    void wake(std::uint32_t member);
    std::uint32_t first() const noexcept;
    std::uint32_t end() const noexcept;

    Driver& driver_;
    Meeting& meeting_;
    const Scope& scope_;
    Meeting::Group& group_;
    std::uint32_t round_;
};

}  // namespace headway::engine
