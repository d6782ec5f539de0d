// SPDX-License-Identifier: Apache-2.0
#include "engine/door.hpp"

#include <string>

#include "engine/copy_job.hpp"
#include "platform/atomic.hpp"
#include "platform/fatal.hpp"
#include "platform/process.hpp"

namespace headway::engine {

namespace {

/// How often an owner looks whether the one who holds its word is still alive.
constexpr std::int64_t look_ns = 1'000'000'000;

}  // namespace

/// Gives the word back to its owner, whoever has it now.
void Door::take_word()
{
    RankState& rank = driver_->rank();
    while (!rank.ownership.enter(platform::Deadline::after_ns(look_ns))) {
        const std::int32_t holder = rank.ownership.holder();
        if (holder >= 0 && driver_->node().is_gone(static_cast<std::uint32_t>(holder))) {
            platform::fatal(rank.rank, "rank " + std::to_string(holder) +
                                           " died while it worked for this one; end the job and "
                                           "look for the first sentence about that rank");
        }
    }
}

void Door::come_back()
{
    take_word();
    is_away_ = false;
    // Bells rung while the rank was away are gone with the word.
    driver_->progress();
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
    RankState& rank = driver_->rank();
    if ((!rank.copies.is_empty() || driver_->has_staged_only() || !rank.fired.is_empty()) &&
        lock_.has_parker()) {
        rank.ownership.nudge();
    }
}

/// Nobody rings for what a rank sends to itself, nor for a step of its own graphs that its own
/// thread has fired: by the last piece of a copy, say, just before what it waited for was there.
void Door::sweep_own()
{
    const RankState& rank = driver_->rank();
    do {
        while (!rank.loopback.is_empty() || !rank.fired.is_empty()) {
            if (driver_->progress() == 0) {
                break;
            }
        }
    } while (!hears());
}

/// Whether the rank can go away as far as other nodes are concerned; sweeps if it cannot.
bool Door::hears()
{
    if (driver_->listen()) [[likely]] {
        return true;
    }
    driver_->progress();
    return false;
}

void Door::go_away()
{
    Node& node = driver_->node();
    RankState& rank = driver_->rank();
    if (node.knobs.progress == config::ProgressChoice::none || !node.agent().start()) {
        copy_some(*driver_, UINT64_MAX);
        driver_->worker().hand_over();
        return;
    }
    // Relaxed: see RankState::open_ops.
    if (rank.open_ops.load(std::memory_order_relaxed) != 0 || rank.peers_waiting != nullptr ||
        driver_->keeps_unsent()) {
        sweep_own();
        // (1) sequentially consistent, pairs with (9) of ownership_word.hpp in start_copy: of a
        // rank that waits no more (RankState::waiting_threads) and a receiver that invites it and
        // then looks whether it waits, one sees the other.
        platform::RealAtomics::fence_full();
        bool is_behind = has_unattended_copies(*driver_);
        bool needs_own_process = has_pieces_for_own_process(*driver_);
        std::int64_t due_ns = driver_->look_again_ns();
        platform::scheduling_point();
        while (rank.ownership.leave()) {
            take_word();
            driver_->progress();
            sweep_own();
            is_behind = has_unattended_copies(*driver_);
            needs_own_process = has_pieces_for_own_process(*driver_);
            due_ns = driver_->look_again_ns();
        }
        is_away_ = true;
        platform::scheduling_point();
        if (due_ns != 0) [[unlikely]] {
            node.watch().wake_at(due_ns);
        }
        if (is_behind) {
            driver_->worker().leave_behind(rank);
        }
        if (needs_own_process) [[unlikely]] {
            driver_->worker().leave_to_own_process(rank);
        }
    }
    if (driver_->worker().has_asked()) {
        driver_->worker().hand_over();
    }
}

}  // namespace headway::engine
