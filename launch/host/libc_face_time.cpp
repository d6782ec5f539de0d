// SPDX-License-Identifier: Apache-2.0
// Time of day: each rank has its own zone and its own results that libc keeps.
#include <ctime>
#include <cwchar>

#include "hosted_rank.hpp"
#include "libc_face.hpp"
#include "libc_functions.hpp"
#include "rank_zone.hpp"

using headway::launch::asking_rank;
using headway::launch::HostedRank;
using headway::launch::InZone;
using headway::launch::libc_functions;
using headway::launch::state_of;

namespace {

/// Calls what depends on the zone, in that of the rank. `looks`: whether it looks at TZ.
template <typename Function, typename... Arguments>
auto call_in_zone(HostedRank* rank, bool looks, Function function, Arguments... arguments)
{
    if (rank == nullptr) {
        return function(arguments...);
    }
    const InZone zone(rank->libc().zone, rank->zone_variables(), rank->environment().get("TZ"),
                      looks);
    return function(arguments...);
}

}  // namespace

HEADWAY_FACE void tzset()
{
    call_in_zone(asking_rank(__builtin_return_address(0)), true, libc_functions().tzset);
}

HEADWAY_FACE std::tm* localtime(const std::time_t* time)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr) {
        libc_functions().tzset();
    }
    return call_in_zone(rank, true, libc_functions().localtime_r, time,
                        &state_of(rank).broken_down);
}

/// Takes what the last look at TZ has found.
HEADWAY_FACE std::tm* localtime_r(const std::time_t* time, std::tm* into)
{
    return call_in_zone(asking_rank(__builtin_return_address(0)), false,
                        libc_functions().localtime_r, time, into);
}

/// Depends on no zone, but as the first look at TZ it is one for the variables.
HEADWAY_FACE std::tm* gmtime(const std::time_t* time)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    return call_in_zone(rank, false, libc_functions().gmtime_r, time, &state_of(rank).broken_down);
}

HEADWAY_FACE std::tm* gmtime_r(const std::time_t* time, std::tm* into)
{
    return call_in_zone(asking_rank(__builtin_return_address(0)), false, libc_functions().gmtime_r,
                        time, into);
}

HEADWAY_FACE char* asctime(const std::tm* time)
{
    // NOLINTNEXTLINE(bugprone-unsafe-functions): the face of just that.
    return ::asctime_r(time, state_of(asking_rank(__builtin_return_address(0))).time_text);
}

HEADWAY_FACE char* ctime(const std::time_t* time)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr) {
        libc_functions().tzset();
    }
    return call_in_zone(rank, true, libc_functions().ctime_r, time, state_of(rank).time_text);
}

HEADWAY_FACE char* ctime_r(const std::time_t* time, char* into)
{
    return call_in_zone(asking_rank(__builtin_return_address(0)), false, libc_functions().ctime_r,
                        time, into);
}

HEADWAY_FACE std::time_t mktime(std::tm* time)
{
    return call_in_zone(asking_rank(__builtin_return_address(0)), true, libc_functions().mktime,
                        time);
}

HEADWAY_FACE std::size_t strftime(char* into, std::size_t room, const char* format,
                                  const std::tm* time)
{
    return call_in_zone(asking_rank(__builtin_return_address(0)), true, libc_functions().strftime,
                        into, room, format, time);
}

HEADWAY_FACE std::size_t strftime_l(char* into, std::size_t room, const char* format,
                                    const std::tm* time, locale_t locale)
{
    return call_in_zone(asking_rank(__builtin_return_address(0)), true, libc_functions().strftime_l,
                        into, room, format, time, locale);
}

HEADWAY_FACE std::size_t wcsftime(wchar_t* into, std::size_t room, const wchar_t* format,
                                  const std::tm* time)
{
    return call_in_zone(asking_rank(__builtin_return_address(0)), true, libc_functions().wcsftime,
                        into, room, format, time);
}

HEADWAY_FACE std::size_t wcsftime_l(wchar_t* into, std::size_t room, const wchar_t* format,
                                    const std::tm* time, locale_t locale)
{
    return call_in_zone(asking_rank(__builtin_return_address(0)), true, libc_functions().wcsftime_l,
                        into, room, format, time, locale);
}

HEADWAY_FACE char* strptime(const char* text, const char* format, std::tm* into)
{
    return call_in_zone(asking_rank(__builtin_return_address(0)), false, libc_functions().strptime,
                        text, format, into);
}

// The same under other names; the C++ library uses those with underscores.
HEADWAY_FACE std::time_t timelocal(std::tm* time) noexcept __attribute__((alias("mktime")));
HEADWAY_FACE std::size_t __strftime_l(char* into, std::size_t room, const char* format,
                                      const std::tm* time, locale_t locale) noexcept
    __attribute__((alias("strftime_l")));
HEADWAY_FACE std::size_t __wcsftime_l(wchar_t* into, std::size_t room, const wchar_t* format,
                                      const std::tm* time, locale_t locale) noexcept
    __attribute__((alias("wcsftime_l")));
