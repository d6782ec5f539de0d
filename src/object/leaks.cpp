// SPDX-License-Identifier: Apache-2.0
#include "object/leaks.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "object/process.hpp"
#include "platform/call_site.hpp"
#include "platform/process.hpp"

namespace headway::object {

namespace {

/// Lines that a rank prints; a program that leaks in a loop does so at few places.
constexpr std::size_t lines_max = 20;
/// Handles whose place is looked up; each new place starts a program.
constexpr std::size_t places_max = 200;

const char* name_of(Kind kind)
{
    switch (kind) {
        case Kind::communicator:
            return "communicator";
        case Kind::group:
            return "group";
        case Kind::datatype:
            return "datatype";
        case Kind::op:
            return "operator";
        case Kind::error_handler:
            return "error handler";
        case Kind::request:
            return "request";
        case Kind::idle_request:
            return "persistent request";
        case Kind::attached_request:
            return "request attached to a sync object";
        case Kind::sync_object:
            return "sync object";
        case Kind::freed_request:
            return "generalized request that is not complete";
        case Kind::info:
            return "info";
        case Kind::message:
            return "message";
        case Kind::window:
            return "window";
        case Kind::file:
            return "file";
        case Kind::session:
            return "session";
        default:
            return "object";
    }
}

/// How often something was made at one place, in the order of places.
using Leaks = std::map<std::tuple<Kind, std::string, std::string>, std::size_t>;

bool is_same_call(const platform::Frames& one, const platform::Frames& other)
{
    return one.count == other.count && one.addresses == other.addresses;
}

/// Looks each call up once.
class Places {
  public:
    const platform::CallSite& find(const platform::Frames& frames)
    {
        const auto found = std::ranges::find_if(
            known_, [&](const auto& each) { return is_same_call(*each.first, frames); });
        if (found != known_.end()) {
            return found->second;
        }
        if (known_.size() == places_max) {
            return unknown_;
        }
        known_.emplace_back(&frames, platform::find_call_site(frames));
        return known_.back().second;
    }

  private:
    std::vector<std::pair<const platform::Frames*, platform::CallSite>> known_;
    platform::CallSite unknown_{"MPI", "another place"};
};

bool is_librarys_own(Rank& rank, HandleBits bits)
{
    return std::ranges::any_of(rank.fortran_types(),
                               [&](const auto& each) { return bits_of(each.second) == bits; });
}

void collect(Rank& rank, const std::vector<HandlePool::Origin>& origins, Places& places,
             Leaks* leaks)
{
    for (const HandlePool::Origin& origin : origins) {
        if (!is_librarys_own(rank, origin.bits)) {
            const platform::CallSite& site = places.find(*origin.frames);
            ++(*leaks)[{origin.kind, site.function, site.place}];
        }
    }
}

}  // namespace

void watch_for_leaks(Rank& rank)
{
    if (rank.process().knobs().leaks != 0) {
        for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
            rank.instance(number).pool->track_origins();
        }
        const std::lock_guard guard(rank.any_time().mutex);
        rank.any_time().pool.track_origins();
    }
}

void report_leaks(Rank& rank)
{
    if (rank.process().knobs().leaks == 0) {
        return;
    }
    Leaks leaks;
    Places places;
    for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
        collect(rank, rank.instance(number).pool->origins(), places, &leaks);
    }
    {
        const std::lock_guard guard(rank.any_time().mutex);
        collect(rank, rank.any_time().pool.origins(), places, &leaks);
    }
    const std::string start = "headway: rank " + std::to_string(rank.world_rank) + ": ";
    std::string text;
    std::size_t lines = 0;
    for (const auto& [what, count] : leaks) {
        const auto& [kind, function, place] = what;
        if (++lines > lines_max) {
            text += start + "leak: objects of " + std::to_string(leaks.size() - lines_max) +
                    " other places\n";
            break;
        }
        text += start + "leak: " + std::to_string(count) + " x " + name_of(kind) + " from " +
                function + (place.empty() ? "" : " at " + place) + ", not freed\n";
    }
    if (!text.empty()) {
        platform::write_error(text);
    }
}

}  // namespace headway::object
