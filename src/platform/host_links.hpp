// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace headway::platform {

/// How a process notices that other hosts have gone, whatever their processes do: connections of
/// TCP over which nothing is ever sent. The systems at both ends keep asking each other whether
/// they are there, so a host that computes answers, nobody wakes up for it, and one that is silent
/// for too long, or whose process has ended, ends the connection. Nobody accepts them either: the
/// system of the other end has made them before.
///
/// Thread rule: any thread, once listen() has answered.
class HostLinks {
  public:
    /// Hosts may be silent for `patience`, of at least a second.
    explicit HostLinks(std::chrono::seconds patience);
    ~HostLinks();
    HostLinks(const HostLinks&) = delete;
    HostLinks& operator=(const HostLinks&) = delete;

    /// Lets other processes watch this one, at the interface that has `address`, a socket address.
    /// Answers where, for connect() of theirs: printable, no blanks, no '/'.
    base::Result<std::string> listen(std::string_view address);

    struct Watched {
        std::string where;    ///< what listen() has answered there
        std::string process;  ///< of which it was, for sentences: "rank 5"
        std::string host;     ///< likewise: "host 'b' (ranks 4 to 7)"
    };
    /// Watches another host from now on; does not wait for the connection. Requires listen().
    base::Outcome connect(Watched watched);

    struct Loss {
        std::string sentence;
        /// The connection has ended by itself: so it has for all who watch that process, and for
        /// its launcher, which may be about to end this one.
        bool has_ended = false;
    };
    /// Looks whether a host was lost, if alert() was called or some time has passed since the last
    /// look. Null: none is, or another thread looks. Never changes back.
    const Loss* look(std::int64_t now_ns);
    /// Until others who watch a silent host have noticed as well.
    std::chrono::milliseconds skew() const noexcept;

    /// Can be read when there is something to see.
    int descriptor() const noexcept { return set_; }
    /// The next look() looks.
    void alert() noexcept;
    /// Whether it will.
    bool is_alerted() const noexcept;

  private:
    struct Link;

    void take_event(Link& link, std::uint32_t events);
    void lose(const Link& link, int error);

    const std::chrono::seconds patience_;
    int set_ = -1;
    int listener_ = -1;
    std::string own_address_;  ///< of connections, with any port
    std::mutex lock_;          ///< of the two below
    std::vector<std::unique_ptr<Link>> links_;
    std::unique_ptr<Loss> loss_;
    std::atomic<std::int64_t> next_look_ns_{0};  // written by who looks; 0: a host is lost
    std::atomic<bool> is_alerted_{false};        // written by the watch and who looks
};

}  // namespace headway::platform
