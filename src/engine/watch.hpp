// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "platform/thread.hpp"
#include "platform/timer.hpp"

namespace headway::engine {

class Node;

/// The second thread of an agent, for transports whose messages nobody rings for: it sleeps in
/// epoll until the moment at which a frame may be seen, and then works for the ranks of this
/// process that compute. It starts when it is first needed, so that most processes never have it.
class Watch {
  public:
    explicit Watch(Node& node) : node_(node) {}
    ~Watch() { stop(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    /// Ranks of this process that compute are looked after at `moment_ns` (CLOCK_MONOTONIC), or
    /// before. Where the system gives no thread they look after themselves in their next call.
    /// Thread rule: any thread of the process.
    void wake_at(std::int64_t moment_ns);

    /// Once: frames for this process's rank may be there when `descriptor` can be read.
    void set_descriptor(int descriptor) noexcept { descriptor_ = descriptor; }
    /// Whenever the descriptor can be read from now on, once, the process's rank is woken if it
    /// sleeps, and worked for if it is away. False: nobody is there to hear it.
    /// Thread rule: the holder of that rank's ownership word.
    bool listen();

    /// Ends the thread and waits for it. Thread rule: the last rank of the process.
    void stop() noexcept;

  private:
    static constexpr std::int64_t never_ns = INT64_MAX;

    bool start();
    bool ensure_started();
    void run();

    Node& node_;
    platform::TimerSleep timer_;
    std::mutex lock_;                  ///< of what follows
    std::int64_t next_ns_ = never_ns;  ///< what the timer is set to
    bool is_refused_ = false;
    int descriptor_ = -1;                ///< written before ranks communicate
    std::atomic<bool> must_end_{false};  // written by stop(), read by the thread
    platform::Thread thread_;
};

}  // namespace headway::engine
