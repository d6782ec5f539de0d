// SPDX-License-Identifier: Apache-2.0
//
// Whether the sender of a lane writes long payloads through its caches or past them.
//
// Where both cores share a cache, plain stores win. Where they do not, each line must first be
// taken from the far core that read it last, and streaming wins (`bench_lane` measures both). Which
// of the two it is depends on where the ranks run now, so the sender measures what its stores cost
// it, until they have left its core. Streaming also costs the receiver, who reads from memory then,
// so it is taken where plain stores cost the sender half as much again: 0.4 to 1.2 times as much
// was seen with a shared cache, 1.7 to 6 times without. There the receiver has bytes from memory as
// soon as from the far core.
#pragma once

#include <cstdint>

namespace headway::transport::shm {

/// Plain data. Thread rule: the sender's executor.
class StoreChoice {
  public:
    /// What plain stores cost where they are too dear, as a fraction of what streaming ones cost.
    struct Dear {
        std::uint64_t times;
        std::uint64_t parts;
    };
    static constexpr Dear usually{3, 2};

    StoreChoice() = default;
    explicit StoreChoice(Dear dear) noexcept : dear_(dear) {}

    /// Way of the next payload: true for streaming stores. What goes to places that were never used
    /// before says nothing of the ways to write.
    bool next_streams(bool is_new = false) noexcept
    {
        if (is_new) [[unlikely]] {
            is_measured_ = false;
            return streamed_;
        }
        ++payloads_;
        is_measured_ = payloads_ <= first_trials || payloads_ % measured_interval == 0;
        if (payloads_ <= first_trials) {
            return payloads_ % 2 == 0;
        }
        const bool streams = dear_.parts * cost_[0] > dear_.times * cost_[1];
        if (streams != streamed_) {
            streamed_ = streams;
            interval_ = interval_min;
            next_trial_ = payloads_ + interval_;
        }
        if (payloads_ < next_trial_) [[likely]] {
            return streams;
        }
        interval_ = interval_ < interval_max ? 2 * interval_ + 1 : interval_max;
        next_trial_ = payloads_ + interval_;
        is_measured_ = true;
        return !streams;
    }

    /// Whether plain stores cost about as much as streaming ones or less, as where both cores share
    /// a cache: there 0.4 to 1.2 of them was seen, without 2.2 and more.
    bool is_near() const noexcept { return 3 * cost_[0] <= 4 * cost_[1]; }

    /// What a payload costs the way it goes now, in the unit of note() for `scale` bytes; 0 where
    /// that is not known yet.
    std::uint64_t cost() const noexcept { return cost_[streamed_ ? 1 : 0]; }

    /// Whether note() is to be told what the payload cost: two looks at the clock are as dear as a
    /// kilobyte.
    bool is_measured() const noexcept { return is_measured_; }

    /// What a payload cost, in any unit of time.
    void note(bool streams, std::uint64_t bytes, std::uint64_t time) noexcept
    {
        const std::uint64_t cost = time * scale / bytes + 1;
        std::uint64_t& known = cost_[streams ? 1 : 0];
        if (known == 0) {
            known = cost;
            return;
        }
        if (cost < known) {
            // A few payloads are cheap wherever the cores are, as their lines happen to be at hand.
            // Only of the way that is not in use so little is known that one of them counts much.
            known -= (known - cost) / (streams == streamed_ ? 8 : 2);
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

    Dear dear_ = usually;
    std::uint64_t cost_[2] = {};  ///< smoothed, for `scale` bytes; 0: unknown
    std::uint32_t payloads_ = 0;
    std::uint32_t next_trial_ = 0;
    std::uint32_t interval_ = interval_min;
    bool streamed_ = false;     ///< what was chosen last, trials apart
    bool is_measured_ = false;  ///< the next payload
};

}  // namespace headway::transport::shm
