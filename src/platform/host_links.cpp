// SPDX-License-Identifier: Apache-2.0
#include "platform/host_links.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace headway::platform {

namespace {

/// Between two looks of who is not called.
constexpr std::int64_t look_interval_ns = 100'000'000;

/// Probes that may be under way until a silent host is lost.
constexpr int probes = 6;

/// An address of IP, with its length.
struct Address {
    sockaddr_storage storage{};
    socklen_t bytes = 0;

    sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
    sockaddr_in& internet() noexcept { return reinterpret_cast<sockaddr_in&>(storage); }
    sockaddr_in6& internet6() noexcept { return reinterpret_cast<sockaddr_in6&>(storage); }
    bool is_6() const noexcept { return storage.ss_family == AF_INET6; }
    in_port_t& port() noexcept { return is_6() ? internet6().sin6_port : internet().sin_port; }
};

/// Its length is 0 where the bytes are no address of IP, or one that holds on one cable only.
Address address_of(std::string_view bytes)
{
    Address address;
    if (bytes.size() > sizeof address.storage) {
        return address;
    }
    std::memcpy(&address.storage, bytes.data(), bytes.size());
    if (address.storage.ss_family == AF_INET && bytes.size() >= sizeof(sockaddr_in)) {
        address.bytes = sizeof(sockaddr_in);
    } else if (address.is_6() && bytes.size() >= sizeof(sockaddr_in6) &&
               IN6_IS_ADDR_LINKLOCAL(&address.internet6().sin6_addr) == 0) {
        address.bytes = sizeof(sockaddr_in6);
    }
    return address;
}

std::string text_of(Address address)
{
    char text[INET6_ADDRSTRLEN] = "";
    const void* const number = address.is_6()
                                   ? static_cast<const void*>(&address.internet6().sin6_addr)
                                   : static_cast<const void*>(&address.internet().sin_addr);
    ::inet_ntop(address.storage.ss_family, number, text, sizeof text);
    return std::string(text) + "," + std::to_string(ntohs(address.port()));
}

/// The reverse; its length is 0 where there is none.
Address address_from(const std::string& text)
{
    Address address;
    const std::size_t comma = text.rfind(',');
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    if (comma == std::string::npos) {
        return address;
    }
    const auto read = std::from_chars(text.data() + comma + 1, end, port);
    if (read.ec != std::errc() || read.ptr != end) {
        return address;
    }
    const std::string number = text.substr(0, comma);
    if (::inet_pton(AF_INET, number.c_str(), &address.internet().sin_addr) == 1) {
        address.storage.ss_family = AF_INET;
        address.bytes = sizeof(sockaddr_in);
    } else if (::inet_pton(AF_INET6, number.c_str(), &address.internet6().sin6_addr) == 1) {
        address.storage.ss_family = AF_INET6;
        address.bytes = sizeof(sockaddr_in6);
    }
    address.port() = htons(port);
    return address;
}

int open_socket(const Address& address)
{
    return ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

void set_option(int descriptor, int level, int option, int value) noexcept
{
    (void)::setsockopt(descriptor, level, option, &value, sizeof value);
}

int seconds_between_probes(std::chrono::seconds patience)
{
    return std::max(1, static_cast<int>(patience.count()) / probes);
}

}  // namespace

struct HostLinks::Link {
    int descriptor = -1;
    bool is_connected = false;
    Watched watched;
};

HostLinks::HostLinks(std::chrono::seconds patience)
    : patience_(patience), set_(::epoll_create1(EPOLL_CLOEXEC))
{
}

HostLinks::~HostLinks()
{
    for (const auto& link : links_) {
        ::close(link->descriptor);
    }
    for (const int descriptor : {listener_, set_}) {
        if (descriptor >= 0) {
            ::close(descriptor);
        }
    }
}

base::Result<std::string> HostLinks::listen(std::string_view address)
{
    Address own = address_of(address);
    if (own.bytes == 0) {
        return base::Failure{"its address is none by which hosts can watch each other"};
    }
    own.port() = 0;
    own_address_.assign(reinterpret_cast<const char*>(&own.storage), own.bytes);
    listener_ = open_socket(own);
    if (set_ < 0 || listener_ < 0 || ::bind(listener_, own.get(), own.bytes) != 0 ||
        ::listen(listener_, SOMAXCONN) != 0 ||
        ::getsockname(listener_, own.get(), &own.bytes) != 0) {
        return base::Failure{"no socket to be watched at can be opened (" +
                             std::string(std::strerror(errno)) + ")"};
    }
    return text_of(own);
}

base::Outcome HostLinks::connect(Watched watched)
{
    auto link = std::make_unique<Link>();
    link->watched = std::move(watched);
    Address there = address_from(link->watched.where);
    Address own = address_of(own_address_);
    link->descriptor = there.bytes != 0 ? open_socket(there) : -1;
    if (link->descriptor < 0) {
        return base::Failure{link->watched.host + " cannot be watched at '" + link->watched.where +
                             "'; do all hosts have the same Headway, and is "
                             "there room for open files (ulimit -n)?"};
    }
    // What the system asks of an idle connection, and how long it waits for any answer.
    const int interval = seconds_between_probes(patience_);
    set_option(link->descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(link->descriptor, IPPROTO_TCP, TCP_KEEPIDLE, interval);
    set_option(link->descriptor, IPPROTO_TCP, TCP_KEEPINTVL, interval);
    set_option(link->descriptor, IPPROTO_TCP, TCP_KEEPCNT, probes);
    set_option(link->descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT,
               static_cast<int>(std::chrono::milliseconds(patience_).count()));
    int error = 0;
    if (::bind(link->descriptor, own.get(), own.bytes) != 0 ||
        (::connect(link->descriptor, there.get(), there.bytes) != 0 && errno != EINPROGRESS)) {
        error = errno;
    }
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.ptr = link.get();
    if (error == 0 && ::epoll_ctl(set_, EPOLL_CTL_ADD, link->descriptor, &event) != 0) {
        error = errno;
    }
    const std::lock_guard guard(lock_);
    links_.push_back(std::move(link));
    if (error != 0) {
        lose(*links_.back(), error);
        return base::Failure{loss_->sentence};
    }
    return base::Done{};
}

/// `error` 0: the other end has closed. Requires the lock.
void HostLinks::lose(const Link& link, int error)
{
    if (loss_ != nullptr) {
        return;
    }
    loss_ = std::make_unique<Loss>();
    next_look_ns_.store(0, std::memory_order_relaxed);  // relaxed: see look()
    const std::string why = error != 0 ? std::string(" (") + std::strerror(error) + ")" : "";
    const Watched& watched = link.watched;
    if (!link.is_connected) {
        loss_->sentence = watched.host + " cannot be reached at " + watched.where + why +
                          "; is it alive, is there a route to it, and does a firewall let "
                          "processes of the job through?";
    } else if (error == 0 || error == ECONNRESET || error == EPIPE) {
        loss_->has_ended = true;
        loss_->sentence = watched.process + " on " + watched.host + " has ended in mid-job" + why +
                          "; look there for what it said last, or why it was killed";
    } else {
        loss_->sentence = watched.host + " has been silent for " +
                          std::to_string(patience_.count()) + " s" + why +
                          "; is it alive, and its network up? HEADWAY_NETWORK_TIMEOUT_S says how "
                          "long it may be";
    }
}

void HostLinks::take_event(Link& link, std::uint32_t events)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    (void)::getsockopt(link.descriptor, SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) {
        lose(link, error);
        return;
    }
    link.is_connected = link.is_connected || (events & EPOLLOUT) != 0;
    if ((events & (EPOLLRDHUP | EPOLLHUP)) != 0) {
        lose(link, 0);
    }
}

const HostLinks::Loss* HostLinks::look(std::int64_t now_ns)
{
    // Relaxed: only says whether to ask for the lock; who misses something looks again.
    if (now_ns < next_look_ns_.load(std::memory_order_relaxed) && !is_alerted()) [[likely]] {
        return nullptr;
    }
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard.owns_lock()) {
        return nullptr;
    }
    if (loss_ == nullptr) {
        // Relaxed: see alert(), and above.
        is_alerted_.store(false, std::memory_order_relaxed);
        next_look_ns_.store(now_ns + look_interval_ns, std::memory_order_relaxed);
        constexpr int events_max = 16;
        epoll_event events[events_max] = {};
        int count = 0;
        do {
            count = ::epoll_wait(set_, events, events_max, 0);
            for (int i = 0; i < count; ++i) {
                take_event(*static_cast<Link*>(events[i].data.ptr), events[i].events);
            }
        } while (count == events_max);
    }
    return loss_.get();
}

std::chrono::milliseconds HostLinks::skew() const noexcept
{
    // A connection was heard of last up to a probe before another one; timers are coarse.
    return std::chrono::seconds(seconds_between_probes(patience_) + 1);
}

void HostLinks::alert() noexcept
{
    // Relaxed: who alerts rings the rank's bell after it, which orders it, and a look that misses
    // it is followed by another one.
    is_alerted_.store(true, std::memory_order_relaxed);
}

bool HostLinks::is_alerted() const noexcept
{
    return is_alerted_.load(std::memory_order_relaxed);  // relaxed: see alert()
}

}  // namespace headway::platform
