// SPDX-License-Identifier: Apache-2.0
#include "reservation.hpp"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/cpu_list.hpp"

namespace headway::launch {
namespace {

constexpr std::string_view variable = "HEADWAY_PROGRESS";
constexpr std::string_view dedicated = "dedicated";

std::string joined(const std::vector<int>& numbers)
{
    std::string text;
    for (const int number : numbers) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return text;
}

std::vector<int> cpus_of(const std::vector<Core>& cores)
{
    std::vector<int> cpus;
    for (const Core& core : cores) {
        cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
    }
    return cpus;
}

bool has(const std::vector<int>& cpus, int cpu)
{
    return std::ranges::find(cpus, cpu) != cpus.end();
}

base::Failure refuse(const std::string& why)
{
    return {"--progress dedicated: " + why};
}

/// A place of OMP_PLACES, a `{`...`}` with repetitions, read from the left.
class PlaceReader {
  public:
    explicit PlaceReader(std::string_view text) : rest_(text) {}

    bool read(std::vector<int>& cpus)
    {
        while (true) {
            std::vector<int> place;
            if (!skip('{') || !read_place(place) || !skip('}')) {
                return false;
            }
            const auto count = repetition();
            if (!count) {
                return false;
            }
            for (int index = 0; index < count->first; ++index) {
                for (const int cpu : place) {
                    cpus.push_back(cpu + index * count->second);
                }
            }
            if (rest_.empty()) {
                return true;
            }
            if (!skip(',')) {
                return false;
            }
        }
    }

  private:
    /// Numbers, each with repetitions of its own.
    bool read_place(std::vector<int>& place)
    {
        do {
            const auto first = number();
            const auto count = first ? repetition() : std::nullopt;
            if (!count) {
                return false;
            }
            for (int index = 0; index < count->first; ++index) {
                place.push_back(*first + index * count->second);
            }
        } while (skip(','));
        return true;
    }

    /// Of ":COUNT:STRIDE", both of which may be missing.
    std::optional<std::pair<int, int>> repetition()
    {
        std::pair<int, int> found{1, 1};
        if (!skip(':')) {
            return found;
        }
        const auto count = number();
        if (!count || *count < 1 || *count > CPU_SETSIZE) {
            return std::nullopt;
        }
        found.first = *count;
        if (skip(':')) {
            const auto stride = number();
            if (!stride) {
                return std::nullopt;
            }
            found.second = *stride;
        }
        return found;
    }

    std::optional<int> number()
    {
        skip_blanks();
        int value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc()) {
            return std::nullopt;
        }
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        skip_blanks();
        return value;
    }

    bool skip(char letter)
    {
        skip_blanks();
        if (!rest_.starts_with(letter)) {
            return false;
        }
        rest_.remove_prefix(1);
        skip_blanks();
        return true;
    }

    void skip_blanks()
    {
        while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) {
            rest_.remove_prefix(1);
        }
    }

    std::string_view rest_;
};

}  // namespace

bool find_dedicated(const std::vector<std::string>& inherited,
                    const std::vector<std::pair<std::string, std::string>>& set, std::string& list)
{
    std::string value;
    for (const std::string& each : inherited) {
        if (each.starts_with(variable) && each.substr(variable.size()).starts_with('=')) {
            value = each.substr(variable.size() + 1);
        }
    }
    for (const auto& [name, text] : set) {
        value = name == variable ? text : value;
    }
    if (value == dedicated) {
        list.clear();
        return true;
    }
    if (!value.starts_with(std::string(dedicated) + ":")) {
        return false;
    }
    list = value.substr(dedicated.size() + 1);
    // An empty list is a mistake to be told, not the default.
    list = list.empty() ? "," : list;
    return true;
}

base::Result<Reservation> choose_cores(std::string_view list)
{
    const std::vector<Core> cores = usable_cores();
    Reservation chosen;
    if (!list.empty()) {
        const auto wanted = base::parse_cpu_list(list);
        if (!wanted) {
            return refuse(wanted.sentence() + "; write it as dedicated:0 or dedicated:0,8-9");
        }
        const std::vector<int> usable = cpus_of(cores);
        for (const unsigned cpu : wanted.value()) {
            if (!has(usable, static_cast<int>(cpu))) {
                return refuse("mpiexec may not use cpu " + std::to_string(cpu) + ", only " +
                              joined(usable) + "; name some of these");
            }
            chosen.cpus.push_back(static_cast<int>(cpu));
        }
    } else if (!cores.empty()) {
        chosen.cpus.push_back(cores.front().cpus.front());
    }
    std::vector<int> numbers;
    for (const Core& core : cores) {
        const bool is_reserved =
            std::ranges::any_of(core.cpus, [&chosen](int cpu) { return has(chosen.cpus, cpu); });
        if (is_reserved) {
            numbers.push_back(core.index);
        } else {
            chosen.left.insert(chosen.left.end(), core.cpus.begin(), core.cpus.end());
        }
    }
    if (chosen.left.empty()) {
        return refuse("core " + joined(numbers) + " is all that mpiexec may use, and leaves none " +
                      "for the ranks; give it more cores, or leave the option out");
    }
    chosen.description = "core " + joined(numbers) + " (cpu " + joined(chosen.cpus) + ")";
    return chosen;
}

base::Outcome leave_cores(const Reservation& reservation)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : reservation.left) {
        CPU_SET(static_cast<std::size_t>(cpu), &set);
    }
    if (::sched_setaffinity(0, sizeof set, &set) != 0) {
        return refuse(std::string("the ranks cannot be kept off it (") + std::strerror(errno) +
                      "); leave the option out");
    }
    return base::Done{};
}

base::Result<std::vector<Place>> share_cores(int rank_count)
{
    return place_processes(Binding::automatic, rank_count);
}

std::vector<std::pair<std::string, std::string>> openmp_settings(const Place& place, int threads)
{
    if (place.cpus.empty()) {
        return {{"OMP_NUM_THREADS", std::to_string(std::max(threads, 1))}};
    }
    std::string places;
    int count = 0;
    for (const Core& core : usable_cores()) {
        if (has(place.cpus, core.cpus.front())) {
            // A place a core, one by one: `{1:3}` would be a single place of three cpus.
            places += (places.empty() ? "{" : ",{") + joined(core.cpus) + "}";
            ++count;
        }
    }
    return {{"OMP_NUM_THREADS", std::to_string(count)},
            {"OMP_PLACES", places},
            {"OMP_PROC_BIND", "true"}};
}

base::Result<std::vector<int>> cpus_of_places(std::string_view text)
{
    std::vector<int> cpus;
    if (!PlaceReader(text).read(cpus)) {
        return base::Failure{"no list of places"};
    }
    return cpus;
}

std::string clash_of_places(const Reservation& reservation, std::string_view places)
{
    const auto cpus = cpus_of_places(places);
    if (!cpus) {
        return "";
    }
    for (const int cpu : reservation.cpus) {
        if (has(cpus.value(), cpu)) {
            return "--progress dedicated: OMP_PLACES=" + std::string(places) + " has cpu " +
                   std::to_string(cpu) +
                   ", which is the dedicated one; take it out, or unset "
                   "OMP_PLACES, which mpiexec sets then";
        }
    }
    return "";
}

}  // namespace headway::launch
