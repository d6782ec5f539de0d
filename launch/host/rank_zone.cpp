// SPDX-License-Identifier: Apache-2.0
#include "rank_zone.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>
#include <string_view>

#include "libc_functions.hpp"

namespace headway::launch {
namespace {

constexpr std::string_view assignment = "TZ=";
/// What libc takes where TZ is not set.
constexpr std::string_view zone_of_machine = ":/etc/localtime";

/// The process's own, which is that of the rank that used it last.
struct ProcessZone {
    std::mutex mutex;
    /// Guarded by the mutex. Texts that were put into the environment stay, as libc may read them
    /// at any time: there is one for each zone that a rank ever had.
    std::set<std::string, std::less<>> assignments;
    std::string loaded;
};

ProcessZone& process_zone()
{
    static auto* const zone = new ProcessZone;  // stays: threads use it to the last moment
    return *zone;
}

char** place_in_environment() noexcept
{
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
        if (std::strncmp(*each, assignment.data(), assignment.size()) == 0) {
            return each;
        }
    }
    return nullptr;
}

/// Has libc read the rules of a zone. Requires the lock.
void load(ProcessZone& zone, const std::string& text)
{
    const std::string& kept = *zone.assignments.insert(std::string(assignment) + text).first;
    char* const words = const_cast<char*>(kept.c_str());
    if (char** const place = place_in_environment(); place != nullptr) {
        // Relaxed: libc reads the word as a whole, and either text stays.
        std::atomic_ref<char*>(*place).store(words, std::memory_order_relaxed);
    } else {
        libc_functions().putenv(words);
    }
    libc_functions().tzset();
    zone.loaded = text;
}

}  // namespace

void InZone::set_first_values(const ZoneVariables& variables) noexcept
{
    static char name[] = "GMT";
    variables.names[0] = name;
    variables.names[1] = name;
    *variables.seconds_west = 0;
    *variables.has_summer = 0;
}

void InZone::prepare()
{
    // A child of a fork would wait for ever for a thread that it does not have.
    ::pthread_atfork([] { process_zone().mutex.lock(); }, [] { process_zone().mutex.unlock(); },
                     [] { process_zone().mutex.unlock(); });
    ProcessZone& zone = process_zone();
    const std::lock_guard lock(zone.mutex);
    const char* const text = libc_functions().getenv("TZ");
    load(zone, text != nullptr ? text : std::string(zone_of_machine));
}

InZone::InZone(RankZone& zone, const ZoneVariables& variables, const char* text, bool looks)
    : lock_(process_zone().mutex), variables_(variables)
{
    ProcessZone& process = process_zone();
    bool is_new = false;
    if (looks || !zone.is_loaded) {
        std::string now = text != nullptr ? text : std::string(zone_of_machine);
        is_new = !zone.is_loaded || zone.text != now;
        zone.is_loaded = true;
        zone.text = std::move(now);
    }
    if (is_new && process.loaded == zone.text) {
        // libc would see that nothing has changed, and leave the variables as another rank's last
        // conversion has set them.
        load(process, process.loaded == "UTC0" ? "UTC1" : "UTC0");
    }
    if (process.loaded != zone.text) {
        load(process, zone.text);
    }
    if (!is_new) {
        std::copy_n(variables.names, 2, ::tzname);
        ::timezone = *variables.seconds_west;
        ::daylight = *variables.has_summer;
    }
}

InZone::~InZone()
{
    std::copy_n(::tzname, 2, variables_.names);
    *variables_.seconds_west = ::timezone;
    *variables_.has_summer = ::daylight;
}

}  // namespace headway::launch
