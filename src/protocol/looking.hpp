// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "engine/driver.hpp"
#include "platform/thread.hpp"
#include "protocol/point_to_point.hpp"
#include "protocol/rank_part.hpp"

namespace headway::protocol {

/// How a receive looks on where ranks share cores, but not threads. Steps of collectives come from
/// others in turn, and seldom while one looks, so they do not.
class Looking {
  public:
    Looking(engine::Driver& driver, const engine::QuickReceive& receive, std::uint32_t sender)
        : node_(driver.node()), rank_(driver.rank())
    {
        const bool is_step = (receive.wanted.context & 1U) != 0;
        if (!node_.shows_presence() || is_step) {
            return;
        }
        here_ = platform::current_processor();
        rank_.presence.come(here_);
        lookout_ = &part_of(rank_).lookout;
        if (!lookout_->looks_on()) {
            return;
        }
        polls_ = Lookout::polls_for_any;
        if (sender != any_sender && !node_.is_distant(sender)) {
            sender_ = &node_.rank_state(sender);
            polls_ = Lookout::polls_max;
        }
    }

    int polls() const noexcept { return polls_; }

    /// Whether the sender runs, for all that is known.
    bool may_come() const noexcept
    {
        return sender_ == nullptr || sender_->presence.is_beside(here_);
    }

    /// After `polls` looks. True: the rank has left this core to its partner.
    bool end(int polls, bool has_come) const
    {
        if (polls_ == 1) {
            return false;
        }
        if (has_come || polls >= polls_) {
            // What is there at the first look says nothing about looking on.
            if (polls != 0) {
                lookout_->tell(has_come);
            }
            return false;
        }
        // One of the two goes; were it both, they might meet there.
        return sender_ != nullptr && sender_->presence.is_at(here_) && lookout_->meets_sender() &&
               sender_->rank < rank_.rank && platform::change_processor();
    }

  private:
    engine::Node& node_;
    engine::RankState& rank_;
    Lookout* lookout_ = nullptr;
    engine::RankState* sender_ = nullptr;  ///< null: not known, or not here
    std::uint32_t here_ = 0;
    int polls_ = 1;
};

}  // namespace headway::protocol
