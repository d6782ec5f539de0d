// SPDX-License-Identifier: Apache-2.0
#include "boot/pmi1_connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "boot/descriptor_message.hpp"

namespace headway::boot {
namespace {

base::Failure gone()
{
    return {
        "the launcher has closed the PMI connection, so it has ended or dropped this process; "
        "start the job again"};
}

base::Failure system_failure(std::string_view what)
{
    return {"the PMI connection to the launcher failed (" + std::string(what) + ": " +
            std::strerror(errno) + "); start the job again"};
}

base::Failure garbage(const std::string& what)
{
    return {"the launcher sent " + what +
            ", which is not PMI-1; start the program with Headway's "
            "mpiexec or with mpiexec.hydra"};
}

/// write() on a descriptor that is not a socket, where MSG_NOSIGNAL does not exist: SIGPIPE is
/// blocked for the call and a new one is taken away.
ssize_t write_without_signal(int descriptor, std::string_view bytes)
{
    sigset_t pipe_signal;
    sigset_t before;
    sigset_t pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    const int error = errno;
    if (count < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
        const timespec at_once{};
        sigtimedwait(&pipe_signal, nullptr, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return count;
}

ssize_t send_some(int connection, std::string_view bytes, int beside)
{
    const ssize_t count = send_with_descriptor(connection, bytes, beside);
    if (count < 0 && errno == ENOTSOCK) {
        return write_without_signal(connection, bytes);
    }
    return count;
}

bool is_transient(int error) noexcept
{
    return error == EINTR || error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

Pmi1Connection::Pmi1Connection(int descriptor, std::chrono::milliseconds patience)
    : descriptor_(descriptor), patience_(patience)
{
    const int flags = ::fcntl(descriptor_, F_GETFD);
    if (flags >= 0) {
        ::fcntl(descriptor_, F_SETFD, flags | FD_CLOEXEC);
    }
}

Pmi1Connection::~Pmi1Connection()
{
    close();
}

void Pmi1Connection::close()
{
    if (descriptor_ >= 0) {
        ::close(descriptor_);
        descriptor_ = -1;
    }
    if (received_descriptor_ >= 0) {
        ::close(release_descriptor());
    }
}

base::Outcome Pmi1Connection::await(short events, Clock::time_point deadline) const
{
    while (true) {
        int timeout_ms = -1;
        if (deadline != Clock::time_point::max()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            timeout_ms =
                static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
        }
        pollfd entry{descriptor_, events, 0};
        const int ready = ::poll(&entry, 1, timeout_ms);
        if (ready > 0) {
            return base::Done{};
        }
        if (ready == 0) {
            return base::Failure{"the launcher has not answered on the PMI connection for " +
                                 std::to_string(patience_.count() / 1000) +
                                 " s although it still holds it; end the job and start it again"};
        }
        if (errno != EINTR) {
            return system_failure("poll");
        }
    }
}

base::Outcome Pmi1Connection::send(std::string_view line, int descriptor)
{
    const auto deadline = Clock::now() + patience_;
    std::string bytes(line);
    bytes += '\n';
    std::string_view rest = bytes;
    while (!rest.empty()) {
        const ssize_t count = send_some(descriptor_, rest, descriptor);
        if (count > 0) {
            descriptor = -1;
            rest.remove_prefix(static_cast<std::size_t>(count));
        } else if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) {
            return gone();
        } else if (count < 0 && !is_transient(errno)) {
            return system_failure("send");
        } else if (auto ready = await(POLLOUT, deadline); !ready) {
            return ready;
        }
    }
    return base::Done{};
}

base::Outcome Pmi1Connection::receive_bytes()
{
    std::array<char, 4096> chunk;
    int beside = -1;
    ssize_t count = receive_with_descriptor(descriptor_, chunk, &beside);
    if (count < 0 && errno == ENOTSOCK) {
        count = ::read(descriptor_, chunk.data(), chunk.size());
    }
    if (beside >= 0) {
        const int before = std::exchange(received_descriptor_, beside);
        if (before >= 0) {
            ::close(before);
        }
    }
    if (count == 0 || (count < 0 && errno == ECONNRESET)) {
        return gone();
    }
    if (count > 0) {
        pending_.append(chunk.data(), static_cast<std::size_t>(count));
        return base::Done{};
    }
    if (is_transient(errno)) {
        return base::Done{};
    }
    return system_failure("read");
}

base::Outcome Pmi1Connection::receive_line(Wait wait)
{
    auto deadline = wait == Wait::server ? Clock::now() + patience_ : Clock::time_point::max();
    while (true) {
        const std::size_t end = pending_.find('\n');
        if (std::min(end, pending_.size()) > pmi1_line_max) {
            return garbage("a line that is too long: " + quote_bytes(pending_));
        }
        if (end != std::string::npos) {
            line_.assign(pending_, 0, end);
            pending_.erase(0, end + 1);
            return base::Done{};
        }
        if (!pending_.empty() && deadline == Clock::time_point::max()) {
            deadline = Clock::now() + patience_;
        }
        if (auto ready = await(POLLIN, deadline); !ready) {
            return ready;
        }
        if (auto received = receive_bytes(); !received) {
            return received;
        }
    }
}

base::Result<Pmi1Line> Pmi1Connection::receive(std::string_view command, Wait wait)
{
    if (auto received = receive_line(wait); !received) {
        return base::Failure{received.sentence()};
    }
    auto line = parse_pmi1_line(line_);
    if (!line) {
        return garbage(line.sentence());
    }
    if (line.value().is_multi_line() || line.value().command() != command) {
        return garbage(quote_bytes(line_) + " where '" + std::string(command) + "' was due");
    }
    return line;
}

base::Result<Pmi1Line> Pmi1Connection::request(std::string_view line, std::string_view answer)
{
    if (auto sent = send(line); !sent) {
        return base::Failure{sent.sentence()};
    }
    return receive_answer(line, answer);
}

base::Result<Pmi1Line> Pmi1Connection::receive_answer(std::string_view line,
                                                      std::string_view answer)
{
    auto received = receive(answer, Wait::server);
    if (received && received.value().find("rc") && received.value().find_int("rc") != 0) {
        return base::Failure{"the launcher refused " + quote_bytes(line) + " with " +
                             quote_bytes(line_)};
    }
    return received;
}

void Pmi1Connection::await_end(std::chrono::milliseconds limit)
{
    const auto deadline = Clock::now() + limit;
    while (await(POLLIN, deadline)) {
        pending_.clear();
        if (!receive_bytes()) {
            return;
        }
    }
}

}  // namespace headway::boot
