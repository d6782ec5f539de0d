// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "platform/thread.hpp"
#include "platform/timer.hpp"

namespace headway::engine {

class Node;
class Worker;

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

    /// Once: frames for this process's ranks may be there when `descriptor` can be read.
    void set_descriptor(int descriptor) noexcept { descriptor_ = descriptor; }
    /// Whenever the descriptor can be read from now on, once, what has come is taken in for all
    /// ranks of this process that sleep or are away; those that it is for are woken, or worked for;
    /// if it is for nobody, all are, since the network may want to be polled.
    /// False: nobody is there to hear it. Thread rule: any thread of the process.
    bool listen();
    /// The same from a little later on, after a look at what has come meanwhile: most ranks that go
    /// away with messages open come back at once, and wake nobody so.
    bool listen_soon();

    /// What the network holds back is sent at `moment_ns`, or before. False: nobody is there to do
    /// it. Thread rule: any thread of the process.
    bool send_by(std::int64_t moment_ns);

    /// Ends the thread and waits for it. Thread rule: the last rank of the process.
    void stop() noexcept;

  private:
    static constexpr std::int64_t never_ns = INT64_MAX;
    static constexpr std::int64_t nap_min_ns = 200'000;
    static constexpr std::int64_t nap_max_ns = 50'000'000;
    // Less than a message of a page takes between hosts; and less than one of a MiB, for the first
    // time that a rank stays away which has always come back.
    static constexpr std::int64_t absence_min_ns = 50'000;
    static constexpr std::int64_t absence_max_ns = 1'000'000;

    bool start();
    bool ensure_started();
    void run();
    struct Turn {
        bool is_due = false;   ///< ranks are to be looked after
        bool is_look = false;  ///< the network is to be looked at
    };
    Turn begin_turn(bool is_called);
    bool ends_hold(std::int64_t now_ns);
    void send_held(Worker& worker);
    void set_timer();
    void look_by(std::int64_t moment_ns);
    void ring_all(Worker& worker);
    void deliver(Worker& worker, bool is_called, bool is_look);

    Node& node_;
    platform::TimerSleep timer_;
    std::mutex lock_;  ///< of what follows
    // The timer is set to the earliest one.
    std::int64_t next_ns_ = never_ns;           ///< when ranks are to be looked after
    std::int64_t listen_ns_ = never_ns;         ///< when the network is to be looked at
    std::int64_t send_ns_ = never_ns;           ///< when held frames are to be sent
    std::int64_t nap_ns_ = nap_min_ns;          ///< until the next look that nobody calls for
    std::int64_t absence_ns_ = absence_min_ns;  ///< until the look at a rank that has gone away
    bool is_refused_ = false;
    bool listens_ = false;               ///< the descriptor is slept for
    int descriptor_ = -1;                ///< written before ranks communicate
    std::vector<std::uint32_t> called_;  ///< the thread's
    std::atomic<bool> must_end_{false};  // written by stop(), read by the thread
    platform::Thread thread_;
};

}  // namespace headway::engine
