// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace headway::engine {

/// Guesses what the program does after a long send that returns at once: waits for it, or computes.
/// A message that the call copies itself, for a frame, keeps a program that computes from it; one
/// that is offered is copied by its receiver meanwhile. So now and then one is offered for a trial,
/// and how long the rank stays away then decides for the next ones, until it is back soon
/// (docs/design/033).
///
/// Thread rule: the rank's own threads, inside its door.
class SendHabit {
  public:
    /// Whether the next such message had better be offered. Asked again before a message has gone
    /// it says the same.
    bool is_to_offer() noexcept
    {
        if (!computes_ && until_trial_ != 0) {
            --until_trial_;
        }
        return computes_ || until_trial_ == 0;
    }

    /// It was, for that.
    void note_offered(std::uint64_t bytes) noexcept
    {
        until_trial_ = interval_;
        offered_bytes_ = bytes;
    }

    /// Whether note_return() wants to know.
    bool is_watched() const noexcept { return offered_bytes_ != 0; }

    /// Its caller waits for it in the same call, which says nothing of those that do not wait.
    void forget() noexcept { offered_bytes_ = 0; }

    /// The rank is back in MPI after so many ticks.
    void note_return(std::uint64_t ticks_away) noexcept
    {
        computes_ = ticks_away > offered_bytes_ / bytes_a_tick;
        offered_bytes_ = 0;
        interval_ = computes_ ? interval_min : std::min(2 * interval_, interval_max);
    }

  private:
    /// What a receiver reads by the system, of what its own cache does not hold: a rank that is
    /// away for longer finds the message read, one that is back sooner would have to wait for that.
    static constexpr std::uint64_t bytes_a_tick = 4;
    static constexpr std::uint32_t first_trial = 8;
    static constexpr std::uint32_t interval_min = 64;
    static constexpr std::uint32_t interval_max = 1024;

    std::uint64_t offered_bytes_ = 0;  ///< of the one that is watched, else 0
    std::uint32_t until_trial_ = first_trial;
    std::uint32_t interval_ = interval_min;
    bool computes_ = false;
};

}  // namespace headway::engine
