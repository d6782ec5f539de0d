// SPDX-License-Identifier: Apache-2.0
#include "object/hosted_scheduler.hpp"

#include "platform/cpu.hpp"

namespace headway::object {

std::int64_t HostedScheduler::now_ns() const noexcept
{
    return platform::system_ns();
}

platform::FutexWait HostedScheduler::wait(const std::atomic<std::uint32_t>& word,
                                          std::uint32_t expected, std::int64_t deadline_ns) noexcept
{
    switch (scheduling_.wait(&word, expected, deadline_ns)) {
        case HEADWAY_WAIT_DIFFERED:
            return platform::FutexWait::value_differed;
        case HEADWAY_WAIT_TIMED_OUT:
            return platform::FutexWait::timed_out;
        default:
            return platform::FutexWait::awake;
    }
}

void HostedScheduler::take_seat(Seat* /*seat*/) noexcept
{
    platform::own_scheduler = this;
}

void HostedScheduler::leave_seat() noexcept
{
    platform::own_scheduler = nullptr;
}

}  // namespace headway::object
