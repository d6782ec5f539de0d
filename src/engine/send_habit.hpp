// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace headway::engine {

/// Guesses what the program does after a long send that returns at once: waits for it, or computes.
/// A message that the call copies itself, for a frame, keeps a program that computes from it; one
/// that is offered is copied by its receiver meanwhile. So now and then one is offered for a trial,
/// and how long the rank stays away says what that was worth: the copy that the call was spared, or
/// the time for which the receiver copied alone. They go on to be offered while they were worth
/// more than they cost (docs/design/033).
///
/// Thread rule: the rank's own threads, inside its door.
class SendHabit {
  public:
    /// Whether the next such message had better be offered. Asked again before a message has gone
    /// it says the same.
    bool is_to_offer() noexcept
    {
        if (worth_ == 0 && until_trial_ != 0) {
            --until_trial_;
        }
        return worth_ != 0 || until_trial_ == 0;
    }

    /// One was offered at `now`; its copy would have taken so many ticks, 0 where that is not
    /// known.
    void note_offered(std::uint64_t bytes, std::uint64_t copy_ticks, std::uint64_t now) noexcept
    {
        until_trial_ = interval_;
        offered_bytes_ = bytes;
        offered_at_ = now;
        // As long as messages are offered nobody learns what a copy costs.
        copy_ticks_ = copy_ticks != 0 ? copy_ticks : read_ticks(bytes) / 2;
    }

    /// Whether note_return() wants to know.
    bool is_watched() const noexcept { return offered_bytes_ != 0; }

    /// Its caller waits for it in the same call, which says nothing of those that do not wait.
    void forget() noexcept { offered_bytes_ = 0; }

    /// The rank left MPI at `left_at`, the last time, and is back at `now`.
    void note_return(std::uint64_t left_at, std::uint64_t now) noexcept
    {
        const std::uint64_t by_receiver = read_ticks(offered_bytes_);
        offered_bytes_ = 0;
        // A receiver that takes the message at once lets the call end with nothing open, of which
        // no leaving is told. Then other calls came before this one, and it says nothing.
        if (left_at - offered_at_ > by_receiver) {
            return;
        }
        if (now - left_at > by_receiver) {
            worth_ = std::min(worth_ + copy_ticks_, copies_ahead * copy_ticks_);
            interval_ = interval_min;
            return;
        }
        if (worth_ == 0) {
            interval_ = std::min(2 * interval_ + 1, interval_max);
        }
        // Had the call copied, the receiver would have copied at the same time, from the lane: more
        // was lost than the two differ by, however dear that copy is.
        worth_ -= std::min(worth_, by_receiver - std::min(by_receiver / 2, copy_ticks_));
    }

  private:
    /// What a receiver reads by the system, of what its own cache does not hold: a rank that is
    /// away for longer finds the message read, one that is back sooner would have to wait for that.
    static constexpr std::uint64_t read_ticks(std::uint64_t bytes) { return bytes / 4; }
    /// What a program that computed for long may lose when it begins to wait.
    static constexpr std::uint64_t copies_ahead = 3;
    // Messages. Odd: a program that waits after every other one would always be tried at the same.
    static constexpr std::uint32_t first_trial = 8;
    static constexpr std::uint32_t interval_min = 63;
    static constexpr std::uint32_t interval_max = 1023;

    std::uint64_t offered_bytes_ = 0;  ///< of the one that is watched, else 0
    std::uint64_t offered_at_ = 0;
    std::uint64_t copy_ticks_ = 0;  ///< that the last one spared its caller
    std::uint64_t worth_ = 0;       ///< ticks spared lately, less those lost
    std::uint32_t until_trial_ = first_trial;
    std::uint32_t interval_ = interval_min;
};

}  // namespace headway::engine
