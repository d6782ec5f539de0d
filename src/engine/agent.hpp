// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "platform/cpu.hpp"
#include "platform/thread.hpp"

namespace headway::engine {

class Node;

/// How often the agent is asked. A program that asks for it all the time is about to do most of
/// the work itself, and each call would pay for a wake-up: the agent then looks by itself once in a
/// while, and nobody has to wake it, until it finds nothing to do.
class Pace {
  public:
    bool is_patrol() const noexcept { return is_patrol_; }
    void end_patrol() noexcept { is_patrol_ = false; }

    void count_wake() noexcept
    {
        const std::int64_t now_ns = platform::monotonic_ns();
        quick_wakes_ = now_ns - last_ns_ < quick_ns ? quick_wakes_ + 1 : 0;
        last_ns_ = now_ns;
        is_patrol_ = quick_wakes_ >= quick_wakes_max;
    }

  private:
    static constexpr std::int64_t quick_ns = 2'000'000;
    static constexpr int quick_wakes_max = 3;

    std::int64_t last_ns_ = 0;
    int quick_wakes_ = 0;
    bool is_patrol_ = false;
};

/// The thread of a process that works for its ranks while they compute; how, its executor says. It
/// starts when a rank first leaves the library with operations open, so a program that has none
/// never gets it; only one on a dedicated cpu starts with the first of them.
///
/// The usual executor is the agent proper, the last resort: asleep until a rank that computes is
/// wanted and no idle rank of the node was found. Where every core has a rank, early copies gain
/// nothing: they cost the same cycles later, and a rank that waits for one copies it itself. There
/// the agent takes a core only when the system would change threads anyway, and leaves long copies
/// alone for a while.
///
/// It takes no signals and, unless it has a cpu of its own, may run on the cores of the job's ranks
/// on this node.
class Agent {
  public:
    explicit Agent(Node& node) : node_(node) {}
    ~Agent() { stop(); }
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;

    /// Idempotent. False: the system gives no thread; nobody works for ranks of this process then
    /// but themselves. Thread rule: any rank's thread.
    bool start()
    {
        // (1) acquire, pairs with (2).
        return state_.load(std::memory_order_acquire) == State::running || start_slowly();
    }

    /// Ends the thread and waits for it. Thread rule: the last rank of the process.
    void stop() noexcept;

    /// Asleep without a bed, so that nobody has to wake it; false if it is to end.
    /// Thread rule: the thread itself, in its executor.
    bool nap(std::int64_t interval_ns) noexcept;
    bool must_end() const noexcept
    {
        // (3) acquire, pairs with (4).
        return must_end_.load(std::memory_order_acquire) != 0;
    }

  private:
    enum class State : std::uint8_t { idle, running, impossible };

    bool start_slowly();
    void run();

    Node& node_;
    std::atomic<State> state_{State::idle};
    // 1: the thread is to end; a futex for its naps. Written by stop(), read by the thread.
    std::atomic<std::uint32_t> must_end_{0};
    std::mutex starting_;
    platform::Thread thread_;
};

}  // namespace headway::engine
