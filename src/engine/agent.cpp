// SPDX-License-Identifier: Apache-2.0
#include "engine/agent.hpp"

#include <memory>

#include "engine/executor.hpp"
#include "engine/node.hpp"
#include "engine/worker.hpp"
#include "platform/futex.hpp"
#include "platform/process.hpp"
#include "platform/thread.hpp"

namespace headway::engine {

bool Agent::start_slowly()
{
    const std::lock_guard guard(starting_);
    if (state_.load(std::memory_order_relaxed) != State::idle) {  // relaxed: under the lock
        return state_.load(std::memory_order_relaxed) == State::running;
    }
    State state = State::running;
    if (!platform::start_thread(thread_, [this] { run(); })) {
        platform::write_error(
            "headway: warning: the system refused a thread, so messages of this process move "
            "only inside its own MPI calls; raise the limit (ulimit -u), or set "
            "HEADWAY_PROGRESS=none\n");
        state = State::impossible;
    } else {
        node_.count_thread(1);
    }
    // (2) release, pairs with (1).
    state_.store(state, std::memory_order_release);
    return state == State::running;
}

bool Agent::nap(std::int64_t interval_ns) noexcept
{
    (void)platform::futex_wait(must_end_, 0, platform::Deadline::after_ns(interval_ns));
    return !must_end();
}

void Agent::run()
{
    const std::unique_ptr<Executor> executor = make_executor(node_);
    executor->settle(node_);
    Worker worker(node_, nullptr);
    sync::OwnershipWord& bed = node_.own_entry().agent_bed;
    (void)bed.enter();
    while (!must_end()) {
        executor->turn(worker, *this);
    }
    (void)bed.leave();
}

void Agent::stop() noexcept
{
    if (!thread_.joinable()) {
        return;
    }
    // (4) release, pairs with (3).
    must_end_.store(1, std::memory_order_release);
    platform::futex_wake(must_end_, 1);
    node_.own_entry().agent_bed.notify_parked();
    thread_.join();
    node_.count_thread(-1);
    state_.store(State::impossible, std::memory_order_relaxed);  // relaxed: the last rank's doing
}

}  // namespace headway::engine
