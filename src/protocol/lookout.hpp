// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

namespace headway::protocol {

/// How long a receive looks for its message before it gives the core away, where ranks share cores.
/// Two ranks that both look on while the other one answers stay on two cores, and exchange messages
/// without a change of contexts until the system takes a core away; where the sender waits for this
/// very core, each look is lost. What paid is likely to pay again, so a rank remembers.
///
/// Thread rule: the thread that has the rank's lock.
class Lookout {
  public:
    /// As long as a rank on another core takes to answer a short message, and a few times more;
    /// less than a change of contexts.
    static constexpr int polls_max = 30;

    /// Polls of the next receive whose message is not there.
    int polls() noexcept
    {
        if (credit_ > 0) {
            return polls_max;
        }
        if (++waits_ >= waits_before_trial) {
            waits_ = 0;
            credit_ = trial_credit;
        }
        return 1;
    }

    /// After more than one poll: whether the message came.
    void tell(bool has_come) noexcept
    {
        credit_ = has_come ? std::min(credit_ + 1, credit_max) : credit_ - price;
    }

  private:
    // Looking pays where it fails less than once in `price` times. A trial is some receives long,
    // for the other rank has to try at the same time; both have received alike often by then.
    static constexpr int price = 4;
    static constexpr int credit_max = 64 * price;
    static constexpr int trial_credit = 16 * price;
    static constexpr int waits_before_trial = 512;

    int credit_ = credit_max;
    int waits_ = 0;
};

}  // namespace headway::protocol
