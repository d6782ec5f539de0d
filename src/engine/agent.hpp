// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "platform/thread.hpp"

namespace headway::engine {

class Node;

/// The thread of a process that works for its ranks as the last resort: asleep until a rank that
/// computes is wanted and no idle rank of the node was found. It starts when a rank first leaves
/// the library with operations open, so a program that has none never gets it.
///
/// It takes no signals and may run on the cores of the job's ranks on this node.
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

  private:
    enum class State : std::uint8_t { idle, running, impossible };

    bool start_slowly();
    void run();

    Node& node_;
    std::atomic<State> state_{State::idle};
    // Written by stop(), read by the thread.
    std::atomic<bool> must_end_{false};
    std::mutex starting_;
    platform::Thread thread_;
};

}  // namespace headway::engine
