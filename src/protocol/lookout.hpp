// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

namespace headway::protocol {

/// How long a receive looks for its message before it gives the core away, where ranks share cores.
/// Two ranks that both look on while the other one answers stay on two cores, and exchange messages
/// without a change of contexts until the system takes a core away. Where the sender has given its
/// core away (engine/presence) a look is of no use and ends at once; where it computes, or waits
/// for a core that was taken from it, nobody knows. What paid is likely to pay again, so a rank
/// remembers.
///
/// Thread rule: the thread that has the rank's lock.
class Lookout {
  public:
    /// A few times as long as a rank on another core takes to wake up and answer. For a message of
    /// whoever sends one: as long as an answer takes, less than a change of contexts.
    static constexpr int polls_max = 600;
    static constexpr int polls_for_any = 30;

    /// Whether the next receive whose message is not there looks on.
    bool looks_on() noexcept
    {
        if (credit_ > 0) {
            return true;
        }
        if (++waits_ >= waits_before_trial) {
            waits_ = 0;
            credit_ = trial_credit;
        }
        return false;
    }

    /// After a look to its end: whether the message came.
    void tell(bool has_come) noexcept
    {
        credit_ = has_come ? std::min(credit_ + 1, credit_max) : credit_ - price;
    }

    /// The sender has given away the very core that this rank runs on: they never look at the same
    /// time. True: one of the two ought to go to another core. Less and less often, as the system
    /// may have its reasons to put them together again.
    [[nodiscard]] bool meets_sender() noexcept
    {
        if (++meetings_ < meetings_before_move_) {
            return false;
        }
        meetings_ = 0;
        meetings_before_move_ = std::min(2 * meetings_before_move_, meetings_before_move_max);
        return true;
    }

  private:
    // Looking pays where it fails less than once in `price` times. A trial is some receives long,
    // for the other rank has to try at the same time; both have received alike often by then.
    static constexpr int price = 8;
    static constexpr int credit_max = 32 * price;
    static constexpr int trial_credit = 8 * price;
    static constexpr int waits_before_trial = 512;
    static constexpr int meetings_before_move_min = 32;
    static constexpr int meetings_before_move_max = 1 << 12;

    int credit_ = credit_max;
    int waits_ = 0;
    int meetings_ = 0;
    int meetings_before_move_ = meetings_before_move_min;
};

}  // namespace headway::protocol
