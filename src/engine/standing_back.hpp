// SPDX-License-Identifier: Apache-2.0
// How a thread that waits and sweeps treats others of its rank (docs/design/020, 034).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "engine/op.hpp"
#include "engine/rank_lock.hpp"
#include "engine/rank_state.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

/// What a thread that stands back can see without the lock: that another thread of its rank has
/// posted something since, or that its only op is complete.
class News {
  public:
    News(const RankState& rank, std::span<Op* const> ops)
        : posted_(rank.own_lane.posted), only_(ops.size() == 1 ? ops.front() : nullptr)
    {
    }

    /// Threads of the rank have messaged each other: most of what this thread waits for comes as
    /// news, so it need not sweep so often.
    bool are_usual() const noexcept
    {
        // Relaxed: see OwnLane::posted.
        return posted_.load(std::memory_order_relaxed) != 0;
    }
    /// What was posted so far is about to be taken.
    void forget() noexcept
    {
        // Relaxed: see OwnLane::posted.
        seen_ = posted_.load(std::memory_order_relaxed);
    }
    bool operator()() const noexcept
    {
        // Relaxed: see OwnLane::posted.
        return posted_.load(std::memory_order_relaxed) != seen_ ||
               (only_ != nullptr && only_->word.is_complete());
    }

  private:
    const std::atomic<std::uint64_t>& posted_;
    const Op* only_;
    std::uint64_t seen_ = 0;
};

/// What a thread does between two sweeps for others of its rank: leaves them the lock, for longer
/// the more often they want it, and the core.
class StandingBack {
  public:
    /// `has_threads`: others of the rank work elsewhere, perhaps on the same core.
    StandingBack(RankLock& lock, const News& news, bool has_threads)
        : lock_(lock), news_(news), has_threads_(has_threads)
    {
    }

    void once()
    {
        turns_ = lock_.is_wanted() ? std::clamp(2 * turns_, 2U, turns_back_max)
                                   : turns_ - (turns_ + 3) / 4;
        // Where threads meet, none sweeps without a pause.
        if (turns_ == 0 && !lock_.meets_threads() && !is_turn_due()) {
            return;
        }
        turns_ = std::max(turns_, news_.are_usual() ? turns_back_for_news : 1U);
        // Then it asks for the lock once a turn, for some turns, before it waits for it.
        const unsigned turns_asking = news_.are_usual() ? turns_back_max : 0;
        const std::int64_t begin_ns = platform::monotonic_ns();
        unsigned turn = 0;
        lock_.stand_back(turns_ + turns_asking, [&] { return turn++ >= turns_ || news_(); });
        if (platform::monotonic_ns() - begin_ns > turn * long_turn_ns) {
            turns_ = 1;
            long_turns_seen = long_turns_remembered;
            sweeps_a_turn = sweeps_a_turn_min;
        }
    }

  private:
    /// Whether somebody else may need the core: after each sweep where turns were long of late,
    /// else now and then, to see whether they are; more seldom each time that they are not.
    bool is_turn_due()
    {
        if (!has_threads_) {
            return false;
        }
        if (long_turns_seen != 0) {
            --long_turns_seen;
            return true;
        }
        if (++sweeps_ < sweeps_a_turn) {
            return false;
        }
        sweeps_ = 0;
        sweeps_a_turn = std::min(2 * sweeps_a_turn, sweeps_a_turn_max);
        return true;
    }

    /// So many turns at most, and but one where a turn takes so long that others must have used the
    /// core.
    static constexpr unsigned turns_back_max = 32;
    static constexpr std::int64_t long_turn_ns = 2'000;
    /// And so many at least where it sees what others of its rank send it.
    static constexpr unsigned turns_back_for_news = 8;

    static constexpr unsigned sweeps_a_turn_min = 16;
    static constexpr unsigned sweeps_a_turn_max = 512;
    static constexpr unsigned long_turns_remembered = 256;
    // Kept from wait to wait, as the thread stays on its core: turns that it still gives because
    // one has been long, and sweeps before the next one otherwise.
    inline static constinit thread_local unsigned long_turns_seen = 0;
    inline static constinit thread_local unsigned sweeps_a_turn = sweeps_a_turn_min;

    RankLock& lock_;
    const News& news_;
    bool has_threads_;
    unsigned turns_ = 0;
    unsigned sweeps_ = 0;
};

}  // namespace headway::engine
