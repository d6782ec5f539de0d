// SPDX-License-Identifier: Apache-2.0
// Functions by which a program gives its core away. A user-level rank that calls them lets other
// ranks run; threads that it has started, and ranks that are the system's threads, have libc's.
#include <sched.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "hosted_rank.hpp"
#include "libc_face.hpp"
#include "libc_functions.hpp"
#include "rank_crew.hpp"

using headway::launch::asking_rank;
using headway::launch::libc_functions;
using headway::launch::RankCrew;

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

/// Where a rank's call suspends it; null: it is libc's.
headway::ult::Crew* crew_of(const void* caller) noexcept
{
    RankCrew* const crew = RankCrew::of_process();
    const bool suspends = crew != nullptr && crew->sleeps_suspend() &&
                          headway::ult::own_task() != nullptr && asking_rank(caller) != nullptr;
    return suspends ? &crew->crew() : nullptr;
}

bool is_valid(const timespec& interval) noexcept
{
    return interval.tv_sec >= 0 && interval.tv_nsec >= 0 && interval.tv_nsec < second_ns;
}

void sleep_for(headway::ult::Crew& crew, const timespec& interval) noexcept
{
    constexpr std::int64_t seconds_max = std::int64_t{1} << 32;
    const std::int64_t seconds = interval.tv_sec < seconds_max ? interval.tv_sec : seconds_max;
    crew.sleep_until(headway::platform::monotonic_ns() + seconds * second_ns + interval.tv_nsec);
}

}  // namespace

HEADWAY_FACE int sched_yield()
{
    if (headway::ult::Crew* const crew = crew_of(__builtin_return_address(0)); crew != nullptr) {
        crew->yield();
        return 0;
    }
    return libc_functions().sched_yield();
}

HEADWAY_FACE void thrd_yield()
{
    if (headway::ult::Crew* const crew = crew_of(__builtin_return_address(0)); crew != nullptr) {
        crew->yield();
        return;
    }
    libc_functions().sched_yield();
}

HEADWAY_FACE int usleep(useconds_t interval_us)
{
    if (headway::ult::Crew* const crew = crew_of(__builtin_return_address(0)); crew != nullptr) {
        sleep_for(*crew, {static_cast<time_t>(interval_us / 1'000'000),
                          static_cast<long>(interval_us % 1'000'000) * 1000});
        return 0;
    }
    return libc_functions().usleep(interval_us);
}

HEADWAY_FACE unsigned sleep(unsigned interval_s)
{
    if (headway::ult::Crew* const crew = crew_of(__builtin_return_address(0)); crew != nullptr) {
        sleep_for(*crew, {static_cast<time_t>(interval_s), 0});
        return 0;
    }
    return libc_functions().sleep(interval_s);
}

HEADWAY_FACE int nanosleep(const timespec* interval, timespec* rest)
{
    headway::ult::Crew* const crew = crew_of(__builtin_return_address(0));
    if (crew == nullptr || interval == nullptr) {
        return libc_functions().nanosleep(interval, rest);
    }
    if (!is_valid(*interval)) {
        errno = EINVAL;
        return -1;
    }
    sleep_for(*crew, *interval);
    return 0;
}

HEADWAY_FACE int clock_nanosleep(clockid_t clock, int flags, const timespec* moment, timespec* rest)
{
    headway::ult::Crew* const crew = crew_of(__builtin_return_address(0));
    const bool is_plain = clock == CLOCK_MONOTONIC || (clock == CLOCK_REALTIME && flags == 0);
    if (crew == nullptr || moment == nullptr || !is_plain) {
        return libc_functions().clock_nanosleep(clock, flags, moment, rest);
    }
    if (!is_valid(*moment)) {
        return EINVAL;
    }
    if (flags == TIMER_ABSTIME) {
        crew->sleep_until(std::int64_t{moment->tv_sec} * second_ns + moment->tv_nsec);
    } else {
        sleep_for(*crew, *moment);
    }
    return 0;
}

/// libc looks into what the kernel keeps for the thread that it takes the caller for.
HEADWAY_FACE int sched_getcpu()
{
    unsigned cpu = 0;
    return ::syscall(SYS_getcpu, &cpu, nullptr, nullptr) == 0 ? static_cast<int>(cpu) : -1;
}
