// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "boot/pmi1_line.hpp"

namespace headway::boot {

/// The stream to a PMI-1 server: whole lines out, whole lines in, everything bounded in size and,
/// where the server owes an answer at once, in time.
///
/// Thread rule: one thread at a time.
class Pmi1Connection {
  public:
    /// How long a server may take to begin its answer. Once it has begun, or where it owes one at
    /// once, the limit is `patience`; an answer that depends on other processes has none: the
    /// death of the launcher is the end of the stream.
    enum class Wait { server, other_processes };

    /// Owns `descriptor` from now on and sets its close-on-exec flag.
    Pmi1Connection(int descriptor, std::chrono::milliseconds patience);
    Pmi1Connection(const Pmi1Connection&) = delete;
    Pmi1Connection& operator=(const Pmi1Connection&) = delete;
    ~Pmi1Connection();

    /// Sends one line, and beside it a descriptor if that is not negative; `line` is without its
    /// newline.
    base::Outcome send(std::string_view line, int descriptor = -1);
    /// Receives one line that must carry `command`. Its views hold until the next call.
    base::Result<Pmi1Line> receive(std::string_view command, Wait wait);
    /// Receives the answer to `line`, which the server owes at once; a field `rc` other than 0 is a
    /// Failure.
    base::Result<Pmi1Line> receive_answer(std::string_view line, std::string_view answer);
    /// Both in one.
    base::Result<Pmi1Line> request(std::string_view line, std::string_view answer);
    /// The last descriptor that came beside received bytes, now the caller's; -1: none.
    int release_descriptor() noexcept { return std::exchange(received_descriptor_, -1); }

    /// Waits until the server closes the stream or `limit` has passed, dropping what it sends.
    void await_end(std::chrono::milliseconds limit);
    void close();

  private:
    using Clock = std::chrono::steady_clock;

    base::Outcome await(short events, Clock::time_point deadline) const;
    base::Outcome receive_bytes();
    base::Outcome receive_line(Wait wait);

    int descriptor_;
    int received_descriptor_ = -1;
    std::chrono::milliseconds patience_;
    std::string pending_;  ///< received, not yet taken
    std::string line_;     ///< the line the last result of receive() points into
};

}  // namespace headway::boot
