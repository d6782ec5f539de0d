// SPDX-License-Identifier: Apache-2.0
//
// Which of two ways to copy bytes is taken: the one that cost less lately. Which one that is
// depends on the processor and on where the ranks run now, so who copies measures it, and tries the
// way that is not in use now and then.
#pragma once

#include <cstdint>

namespace headway::transport::shm {

/// Plain data. Thread rule: who copies.
class CostChoice {
  public:
    /// What the first way costs where it is too dear, as a fraction of what the second one costs.
    struct Dear {
        std::uint64_t times;
        std::uint64_t parts;
    };

    explicit CostChoice(Dear dear) noexcept : dear_(dear) {}

    /// Way of the next payload: true for the second one. What goes to places that were never used
    /// before says nothing of either.
    bool next_takes_second(bool is_new = false) noexcept
    {
        if (is_new) [[unlikely]] {
            is_measured_ = false;
            return takes_second_;
        }
        ++payloads_;
        is_measured_ = payloads_ <= first_trials || payloads_ % measured_interval == 0;
        if (payloads_ <= first_trials) {
            return payloads_ % 2 == 0;
        }
        const bool takes_second = dear_.parts * cost_[0] > dear_.times * cost_[1];
        if (takes_second != takes_second_) {
            takes_second_ = takes_second;
            interval_ = interval_min;
            next_trial_ = payloads_ + interval_;
        }
        if (payloads_ < next_trial_) [[likely]] {
            return takes_second;
        }
        interval_ = interval_ < interval_max ? 2 * interval_ + 1 : interval_max;
        next_trial_ = payloads_ + interval_;
        is_measured_ = true;
        return !takes_second;
    }

    /// Whether the first way costs about as much as the second one, or less.
    bool is_first_cheap() const noexcept { return 3 * cost_[0] <= 4 * cost_[1]; }

    /// What a payload costs the way it goes now, in the unit of note() for `scale` bytes; 0 where
    /// that is not known yet.
    std::uint64_t cost() const noexcept { return cost_[takes_second_ ? 1 : 0]; }

    /// Whether note() is to be told what the payload cost: two looks at the clock are as dear as a
    /// kilobyte.
    bool is_measured() const noexcept { return is_measured_; }

    /// What a payload cost, in any unit of time.
    void note(bool took_second, std::uint64_t bytes, std::uint64_t time) noexcept
    {
        const std::uint64_t cost = time * scale / bytes + 1;
        std::uint64_t& known = cost_[took_second ? 1 : 0];
        if (known == 0) {
            known = cost;
            return;
        }
        if (cost < known) {
            // A few payloads are cheap wherever the cores are, as their lines happen to be at hand.
            // Only of the way that is not in use so little is known that one of them counts much.
            known -= (known - cost) / (took_second == takes_second_ ? 8 : 2);
            return;
        }
        // A payload during which the core was taken away says little: it counts as twice the cost.
        const std::uint64_t more = cost - known < known ? cost - known : known;
        known += (more + 7) / 8;
    }

    /// Costs are for so many bytes.
    static constexpr std::uint64_t scale = 4096;

  private:
    static constexpr std::uint32_t first_trials = 8;
    // Payloads between two trials of the other way: the fewer, the newer is what is known, and the
    // more a trial costs each. They and what is measured have no factor in common with a ring of
    // slots: a slot that was streamed into is a dear one when its turn comes again.
    static constexpr std::uint32_t interval_min = 63;
    static constexpr std::uint32_t interval_max = 1023;
    static constexpr std::uint32_t measured_interval = 7;

    Dear dear_;
    std::uint64_t cost_[2] = {};  ///< smoothed, for `scale` bytes; 0: unknown
    std::uint32_t payloads_ = 0;
    std::uint32_t next_trial_ = 0;
    std::uint32_t interval_ = interval_min;
    bool takes_second_ = false;  ///< what was chosen last, trials apart
    bool is_measured_ = false;   ///< the next payload
};

}  // namespace headway::transport::shm
