// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace headway::protocol::coll {

/// Names the blocks of one side of a neighbourhood: those between the same two ranks are told apart
/// by the number of the edge, or on a grid by the direction in which they leave.
class EdgeSlots {
  public:
    explicit EdgeSlots(bool are_directions) : are_directions_(are_directions) {}

    std::uint16_t of_destination(int peer, std::size_t block) { return next(peer, block); }
    /// Named as by its sender, who sends it the other way.
    std::uint16_t of_source(int peer, std::size_t block) { return next(peer, block ^ 1U); }

  private:
    std::uint16_t next(int peer, std::size_t direction)
    {
        return are_directions_ ? static_cast<std::uint16_t>(direction) : used_[peer]++;
    }

    bool are_directions_;
    std::map<int, std::uint16_t> used_;
};

}  // namespace headway::protocol::coll
