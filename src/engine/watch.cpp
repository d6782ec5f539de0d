// SPDX-License-Identifier: Apache-2.0
#include "engine/watch.hpp"

#include "engine/executor.hpp"
#include "engine/node.hpp"
#include "engine/worker.hpp"
#include "platform/host_links.hpp"
#include "platform/process.hpp"
#include "platform/thread.hpp"

namespace headway::engine {

bool Watch::start()
{
    if (!timer_.open() || !platform::start_thread(thread_, [this] { run(); })) {
        platform::write_error(
            "headway: warning: the system refused a thread or a timer for delayed messages, so "
            "they move only inside MPI calls; raise the limits (ulimit -u, ulimit -n)\n");
        return false;
    }
    return true;
}

/// Requires the lock.
bool Watch::ensure_started()
{
    if (!is_refused_ && !thread_.joinable()) {
        is_refused_ = !start();
    }
    return !is_refused_;
}

bool Watch::listen()
{
    if (descriptor_ < 0 || node_.knobs.progress == config::ProgressChoice::none) {
        return false;
    }
    const std::lock_guard guard(lock_);
    return ensure_started() && timer_.listen(descriptor_);
}

void Watch::wake_at(std::int64_t moment_ns)
{
    // Who looks by himself sees the frame. A simulation's time needs somebody who waits for it.
    if (is_polled(node_) && node_.knobs.sim == 0) {
        return;
    }
    const std::lock_guard guard(lock_);
    if (moment_ns >= next_ns_ || !ensure_started()) {
        return;
    }
    next_ns_ = moment_ns;
    timer_.set(platform::Deadline::at_ns(moment_ns));
}

void Watch::run()
{
    platform::name_thread("headway-watch");
    platform::allow_cpus(node_.cpus());
    Worker worker(node_, nullptr);
    if (node_.host_links != nullptr) {
        (void)timer_.set_alarm(node_.host_links->descriptor());  // else who polls looks by himself
    }
    for (;;) {
        const bool is_called = timer_.sleep();
        // (1) acquire, pairs with (2).
        if (must_end_.load(std::memory_order_acquire)) {
            return;
        }
        // Relaxed: a statistic.
        node_.own_entry().agent_wakes.fetch_add(1, std::memory_order_relaxed);
        {
            // Before the sweep: what it finds withheld sets the timer again.
            const std::lock_guard guard(lock_);
            next_ns_ = never_ns;
        }
        if (timer_.has_alarm()) {
            node_.host_links->alert();
        }
        if (is_called || timer_.has_alarm()) {
            // Its bell is rung wherever it is: on its way out it may have looked already.
            worker.ring(node_.rank_state(node_.first_rank()));
        }
        worker.work_for_all();
        while (worker.has_asked() && worker.help()) {
        }
        worker.hand_over();
    }
}

void Watch::stop() noexcept
{
    if (!thread_.joinable()) {
        return;
    }
    // (2) release, pairs with (1).
    must_end_.store(true, std::memory_order_release);
    timer_.set(platform::Deadline::at_ns(0));
    thread_.join();
}

}  // namespace headway::engine
