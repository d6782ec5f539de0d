// SPDX-License-Identifier: Apache-2.0
#include "platform/timer.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace headway::platform {

TimerSleep::~TimerSleep()
{
    for (const int descriptor : {timer_, set_}) {
        if (descriptor >= 0) {
            ::close(descriptor);
        }
    }
}

bool TimerSleep::open() noexcept
{
    timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    set_ = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = timer_;
    return timer_ >= 0 && set_ >= 0 && ::epoll_ctl(set_, EPOLL_CTL_ADD, timer_, &event) == 0;
}

void TimerSleep::set(Deadline moment) noexcept
{
    if (own_scheduler != nullptr && own_scheduler->is_simulated()) {
        moment_ns_ = moment.ns();
        times_set_.fetch_add(1, std::memory_order_relaxed);  // relaxed: one thread runs at a time
        futex_wake(times_set_);
        return;
    }
    itimerspec spec{};
    // All zero would stop the timer.
    const std::int64_t ns = moment.ns() > 0 ? moment.ns() : 1;
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
    (void)::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

bool TimerSleep::listen(int descriptor) noexcept
{
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.fd = descriptor;
    return ::epoll_ctl(set_, EPOLL_CTL_MOD, descriptor, &event) == 0 ||
           (errno == ENOENT && ::epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &event) == 0);
}

bool TimerSleep::set_alarm(int descriptor) noexcept
{
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.fd = descriptor;
    alarm_ = descriptor;
    return ::epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void TimerSleep::sleep_simulated() noexcept
{
    has_alarm_ = false;
    while (monotonic_ns() < moment_ns_) {
        // Relaxed: one thread runs at a time.
        const std::uint32_t seen = times_set_.load(std::memory_order_relaxed);
        (void)futex_wait(times_set_, seen, Deadline::at_ns(moment_ns_));
    }
    moment_ns_ = Deadline::never().ns();
}

bool TimerSleep::sleep() noexcept
{
    if (own_scheduler != nullptr && own_scheduler->is_simulated()) {
        sleep_simulated();
        return false;
    }
    constexpr int events_max = 3;
    epoll_event events[events_max] = {};
    int count = 0;
    do {
        count = ::epoll_wait(set_, events, events_max, -1);
    } while (count < 0 && errno == EINTR);
    const auto has = [&](auto&& is_meant) {
        return std::any_of(events, events + std::max(count, 0),
                           [&](const epoll_event& event) { return is_meant(event.data.fd); });
    };
    if (has([&](int descriptor) { return descriptor == timer_; })) {
        std::uint64_t times = 0;
        // Fails where somebody has set the timer again meanwhile: an early end does no harm.
        (void)!::read(timer_, &times, sizeof times);
    }
    has_alarm_ = alarm_ >= 0 && has([&](int descriptor) { return descriptor == alarm_; });
    return has([&](int descriptor) { return descriptor != timer_ && descriptor != alarm_; });
}

}  // namespace headway::platform
