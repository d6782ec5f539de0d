// SPDX-License-Identifier: Apache-2.0
//
// Context ids: a communicator's name in the headers of its messages. Bit 0 tells collective steps
// from messages. The rank that leads a communicator picks the id from numbers of its own, so no
// agreement is needed; ids below the first leader's are fixed.
//
// A member that is behind, or has operations under way, uses an id longer than the leader, who does
// not hear of it. So numbers go round: one comes back when all others of its leader have had their
// turn (134 million in a job of two ranks, 4096 in one of 100 000). Who still uses it then
// refuses the new communicator: two of one name would take each other's messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

namespace headway::object {

/// What one rank knows of context ids. Thread rule: inside, by the rank's first door.
class ContextIds {
  public:
    static constexpr std::uint32_t world = 0;
    static constexpr std::uint32_t self = 2;
    static constexpr std::uint32_t ground = 4;

    /// Requires rank < job_ranks.
    ContextIds(std::uint32_t rank, std::uint32_t job_ranks) noexcept;

    /// How many communicators a rank can lead at a time.
    std::uint32_t alive_max() const noexcept { return alive_max_; }

    /// An id for a communicator that this rank leads, which is one of those that are spread over
    /// instances or not; 0: alive_max() are alive.
    std::uint32_t pick(bool is_spread);
    /// Nobody has learned of the id that this rank picked.
    void give_back(std::uint32_t id) { picked_.erase(id); }

    /// Whether a communicator of this rank has the id, freed perhaps, but with operations under
    /// way.
    bool is_held(std::uint32_t id) const { return held_.contains(id); }
    /// A communicator of this rank has it from now on, and until drop().
    void hold(std::uint32_t id);
    void drop(std::uint32_t id);

    static bool is_spread(std::uint32_t id) noexcept { return (id & spread_bit) != 0; }
    /// Counts the communicators of the id's leader.
    std::uint32_t number(std::uint32_t id) const noexcept;

  private:
    /// Above all leaders.
    static constexpr std::uint32_t spread_bit = 1U << 30U;

    unsigned number_bits_;
    std::uint32_t alive_max_;
    std::uint32_t first_;  ///< of this leader's ids
    std::uint32_t next_number_ = 0;
    std::unordered_set<std::uint32_t> picked_;
    std::unordered_set<std::uint32_t> held_;
};

}  // namespace headway::object
