// SPDX-License-Identifier: Apache-2.0
#include "engine/away.hpp"

#include <string>

#include "engine/copy_job.hpp"
#include "engine/node.hpp"
#include "engine/rank_state.hpp"
#include "platform/atomic.hpp"
#include "platform/cpu.hpp"
#include "platform/fatal.hpp"
#include "platform/process.hpp"

namespace headway::engine {

namespace {

/// How often an owner looks whether the one who holds its word is still alive.
constexpr std::int64_t look_ns = 1'000'000'000;

/// Whether the rank can go away as far as other nodes are concerned; sweeps if it cannot.
bool hears(Driver& driver)
{
    if (driver.listen_soon()) [[likely]] {
        return true;
    }
    driver.progress();
    return false;
}

/// Nobody rings for what a rank sends to itself, nor for a step of its own graphs that its own
/// thread has fired: by the last piece of a copy, say, just before what it waited for was there.
void sweep_own(Driver& driver)
{
    RankState& rank = driver.rank();
    do {
        while (!rank.loopback.is_empty() || rank.own_lane.has_frame() || !rank.fired.is_empty()) {
            if (driver.progress() == 0) {
                break;
            }
        }
    } while (!hears(driver));
}

}  // namespace

void take_word(Driver& driver)
{
    RankState& rank = driver.rank();
    while (!rank.ownership.enter(platform::Deadline::after_ns(look_ns))) {
        const std::int32_t holder = rank.ownership.holder();
        if (holder >= 0 && driver.node().is_gone(static_cast<std::uint32_t>(holder))) {
            platform::fatal(rank.rank, "rank " + std::to_string(holder) +
                                           " died while it worked for this one; end the job and "
                                           "look for the first sentence about that rank");
        }
    }
}

namespace {

/// What others have to see to, once the word is free.
struct LeftOver {
    /// Copies that nobody attends to, or frames that a sweep left in their lanes: their bells may
    /// be gone.
    bool is_for_anybody;
    bool is_for_own_process;
    std::int64_t due_ns;
};

LeftOver look_what_is_left(Driver& driver, bool may_ring)
{
    return {has_unattended_copies(driver, may_ring) || driver.rank().has_left_frames,
            has_pieces_for_own_process(driver), driver.look_again_ns()};
}

/// False: the word is the owner's still, as `may_stay` and nothing is open any more.
bool leave(Driver& driver, bool may_stay)
{
    Node& node = driver.node();
    RankState& rank = driver.rank();
    // Relaxed: a hint.
    rank.left_at.store(platform::ticks(), std::memory_order_relaxed);
    if (rank.has_left_frames) {
        driver.progress();
    }
    sweep_own(driver);
    // (1) sequentially consistent, pairs with (9) of ownership_word.hpp in start_copy: of a
    // rank that waits no more (RankState::waiting_threads) and a receiver that invites it and
    // then looks whether it waits, one sees the other.
    platform::RealAtomics::fence_full();
    LeftOver left = look_what_is_left(driver, true);
    platform::scheduling_point();
    while (rank.ownership.leave()) {
        take_word(driver);
        driver.progress();
        sweep_own(driver);
        if (may_stay && !driver.leaves_word_free() && !driver.has_unsent()) {
            return false;
        }
        left = look_what_is_left(driver, false);
    }
    platform::scheduling_point();
    if (left.due_ns != 0) [[unlikely]] {
        node.watch().wake_at(left.due_ns);
    }
    if (left.is_for_anybody) {
        driver.worker().leave_behind(rank);
    }
    if (left.is_for_own_process) [[unlikely]] {
        driver.worker().leave_to_own_process(rank);
    }
    return true;
}

}  // namespace

void leave_word(Driver& driver)
{
    (void)leave(driver, false);
}

bool leave_open_work(Driver& driver)
{
    return leave(driver, true);
}

}  // namespace headway::engine
