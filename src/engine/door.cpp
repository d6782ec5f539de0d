// SPDX-License-Identifier: Apache-2.0
#include "engine/door.hpp"

#include "engine/away.hpp"
#include "engine/copy_job.hpp"
#include "engine/siblings.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

std::uint64_t Door::sweeps() const noexcept
{
    // Relaxed: counted by who holds the word, as this thread does.
    return driver_->rank().counters.sweeps.load(std::memory_order_relaxed);
}

void Door::come_back()
{
    RankState& rank = driver_->rank();
    if (rank.send_habit.is_watched()) [[unlikely]] {
        // Relaxed: written by this rank as it left.
        rank.send_habit.note_return(rank.left_at.load(std::memory_order_relaxed),
                                    platform::ticks());
    }
    take_word(*driver_);
    is_away_ = false;
    swept_before_ = sweeps();
    if (driver_->siblings() != nullptr) [[unlikely]] {
        driver_->siblings()->note_return(driver_->rank().instance);
    }
}

/// Other calls of this rank are inside, asleep perhaps: they do not see what this one leaves.
void Door::leave_others()
{
    if (driver_ == nullptr) {
        return;
    }
    if (driver_->worker().has_asked()) {
        driver_->worker().hand_over();
    }
    (void)driver_->leave_held();
    RankState& rank = driver_->rank();
    if ((!rank.copies.is_empty() || driver_->has_staged_only() || !rank.fired.is_empty()) &&
        lock_.has_parker()) {
        rank.ownership.nudge();
    }
}

bool Door::look_in(bool is_before_sleep)
{
    if (driver_ == nullptr) {
        return true;
    }
    if (!lock_.try_lock()) {
        return false;
    }
    bool is_seen_to = true;
    if (!is_away_ && inside_ == 0) {
        ++inside_;
        driver_->progress();
        (void)copy_some(*driver_, driver_->node().knobs.copy_at_once);
        lock_.lock();  // once more, to see how it was left
        RankState& rank = driver_->rank();
        // Relaxed: written under the lock.
        const bool is_left =
            is_before_sleep && rank.counters.posted_queue.load(std::memory_order_relaxed) != 0;
        if (is_left) {
            rank.open_ops.add_reliance();
        }
        leave();
        if (is_left) {
            rank.open_ops.remove_reliance();
        }
        is_seen_to = is_away_;
    } else if (!is_away_ && (!lock_.is_enabled() || lock_.is_nested())) {
        // This thread itself, which called from a user's function.
        driver_->progress();
        is_seen_to = false;
    }
    lock_.unlock();
    return is_seen_to;
}

void Door::go_away()
{
    Node& node = driver_->node();
    if (node.knobs.progress == config::ProgressChoice::none || !node.agent().start()) {
        copy_some(*driver_, UINT64_MAX);
        (void)driver_->leave_held();
        driver_->worker().hand_over();
        return;
    }
    // Bells rung while the rank was away are gone with the word. What they rang for is looked at
    // after the call, if that has not waited, so that a message finds the receive that it posted.
    if (sweeps() == swept_before_) {
        driver_->progress_in_passing();
    }
    if (driver_->leaves_word_free() || driver_->keeps_unsent()) {
        // Only then: user functions run on the way out, and what they call must find the word here.
        is_away_ = leave_open_work(*driver_);
    }
    if (driver_->worker().has_asked()) {
        driver_->worker().hand_over();
    }
}

}  // namespace headway::engine
