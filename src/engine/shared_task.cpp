// SPDX-License-Identifier: Apache-2.0
#include "engine/shared_task.hpp"

namespace headway::engine {

namespace {

/// Calls `call(rank)` for the ranks of this process of which a thread waits, by the looks.
template <typename Call>
bool for_waiting_ranks(Node& node, Call&& call)
{
    bool has_any = false;
    for (std::uint32_t number = 0; number < node.rank_count; ++number) {
        RankState& rank = node.rank_state(number);
        // Relaxed: a hint.
        if (rank.process == node.own_process &&
            rank.waiting_threads.load(std::memory_order_relaxed) != 0) {
            has_any = true;
            call(rank);
        }
    }
    return has_any;
}

}  // namespace

void run_shared(Driver& driver, sync::Task& task)
{
    Node& node = driver.node();
    RankLock& lock = driver.lock();
    // Where ranks share cores, who waits has none to give. Simulations order all that happens.
    if (node.is_oversubscribed || node.knobs.sim != 0 || lock.is_nested() ||
        !for_waiting_ranks(node, [](RankState&) {})) {
        (void)task.work();
        return;
    }
    bool is_shared = false;
    node.tasks.run(task, [&] {
        is_shared = true;
        lock.wake_all_sleepers();
        lock.unlock();
        (void)for_waiting_ranks(node, [](RankState& rank) { rank.ownership.nudge(); });
    });
    if (is_shared) {
        lock.lock();
    }
}

bool take_part_in_task(Driver& driver)
{
    RankLock& lock = driver.lock();
    if (lock.is_nested()) {
        return false;
    }
    lock.unlock();
    const bool has_worked = driver.node().tasks.help();
    lock.lock();
    return has_worked;
}

}  // namespace headway::engine
