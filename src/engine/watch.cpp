// SPDX-License-Identifier: Apache-2.0
#include "engine/watch.hpp"

#include <algorithm>

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
    listens_ = listens_ || (ensure_started() && timer_.listen(descriptor_));
    return listens_;
}

bool Watch::listen_soon()
{
    if (descriptor_ < 0 || node_.knobs.progress == config::ProgressChoice::none) {
        return false;
    }
    const std::lock_guard guard(lock_);
    if (!ensure_started()) {
        return false;
    }
    look_by(platform::monotonic_ns() + absence_ns_);
    return true;
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
    set_timer();
}

/// Requires the lock.
void Watch::set_timer()
{
    const std::int64_t moment_ns = std::min({next_ns_, listen_ns_, send_ns_});
    if (moment_ns != never_ns) {
        timer_.set(platform::Deadline::at_ns(moment_ns));
    }
}

/// Requires the lock.
void Watch::look_by(std::int64_t moment_ns)
{
    if (moment_ns < listen_ns_) {
        listen_ns_ = moment_ns;
        set_timer();
    }
}

bool Watch::send_by(std::int64_t moment_ns)
{
    const std::lock_guard guard(lock_);
    if (moment_ns < send_ns_) {
        if (!ensure_started()) {
            return false;
        }
        send_ns_ = moment_ns;
        set_timer();
    }
    return true;
}

/// Whether held frames are due. Before they are sent: for those that are held from then on, the
/// moment is set anew.
bool Watch::ends_hold(std::int64_t now_ns)
{
    const std::lock_guard guard(lock_);
    const bool is_due = now_ns >= send_ns_;
    send_ns_ = is_due ? never_ns : send_ns_;
    return is_due;
}

/// Again and again until they are out, as nobody else looks after them.
void Watch::send_held(Worker& worker)
{
    if (!node_.network->send_held(called_)) {
        (void)send_by(platform::monotonic_ns() + nap_min_ns);
    }
    for (const std::uint32_t rank : called_) {
        worker.ring(node_.rank_state(node_.peer_of(rank)));
    }
    called_.clear();
}

void Watch::run()
{
    platform::name_thread("headway-watch");
    platform::allow_cpus(node_.cpus());
    platform::take_short_turns();
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
        const bool ends_a_hold = ends_hold(platform::monotonic_ns());
        const Turn turn = begin_turn(is_called);
        if (ends_a_hold) {
            send_held(worker);
        }
        if (timer_.has_alarm()) {
            node_.host_links->alert();
            ring_all(worker);
        }
        if (descriptor_ >= 0) {
            deliver(worker, is_called, turn.is_look);
        }
        if (turn.is_due) {
            worker.work_for_all();
        }
        while (worker.has_asked() && worker.help()) {
        }
        worker.hand_over();
    }
}

/// What the moment has come for. Before the sweep: what that finds withheld sets the timer again.
Watch::Turn Watch::begin_turn(bool is_called)
{
    const std::lock_guard guard(lock_);
    listens_ = listens_ && !is_called;  // it is told of once
    const std::int64_t now_ns = platform::monotonic_ns();
    Turn turn{.is_due = descriptor_ < 0 || now_ns >= next_ns_, .is_look = now_ns >= listen_ns_};
    listen_ns_ = turn.is_look ? never_ns : listen_ns_;
    next_ns_ = turn.is_due ? never_ns : next_ns_;
    set_timer();
    return turn;
}

/// Bells are rung wherever the ranks are: on their way out they may have looked already.
void Watch::ring_all(Worker& worker)
{
    for (std::uint32_t number = 0; number < node_.directory.rank_count; ++number) {
        RankState& rank = node_.rank_state(number);
        if (rank.process == node_.own_process) {
            worker.ring(rank);
        }
    }
}

/// Takes in what has come, rings those that it is for, and listens again for others that sleep.
void Watch::deliver(Worker& worker, bool is_called, bool is_look)
{
    const transport::Network::Delivery found = node_.network->deliver(called_);
    const bool has_found_asleep = found.is_awaited || !called_.empty();
    if (is_called && called_.empty() && !found.is_of_parts) {
        // A provider in layers that makes a connection wants to be polled for a while, and tells of
        // no step of it twice: ranks that wait do so.
        ring_all(worker);
    }
    for (const std::uint32_t rank : called_) {
        worker.ring(node_.rank_state(node_.peer_of(rank)));
    }
    called_.clear();
    {
        const std::lock_guard guard(lock_);
        if (found.is_awaited && found.is_attended) {
            // Ranks that look take in what comes for all: to be told of each of their frames would
            // cost more than they do. Whether they still look is seen after about as long as they
            // have done so; the next one that goes to sleep calls the watch back at once.
            look_by(platform::monotonic_ns() + nap_ns_);
            nap_ns_ = std::min(2 * nap_ns_, nap_max_ns);
            return;
        }
        nap_ns_ = nap_min_ns;
        // Who is found to have come back already, again and again, is left alone for longer. That
        // he is away need not mean that he stays so: he may be between two calls.
        if (has_found_asleep) {
            absence_ns_ = std::max(absence_ns_ / 4, absence_min_ns);
        } else if (is_look) {
            absence_ns_ = std::min(2 * absence_ns_, absence_max_ns);
        }
    }
    if (found.is_awaited) {
        (void)listen();
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
