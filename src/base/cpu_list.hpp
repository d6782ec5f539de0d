// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace headway::base {

/// Cpus of a list as "0,2-3": numbers and ranges, each cpu once. Failure: one clause that says what
/// is wrong with it ("'x' is no number of a cpu").
inline Result<std::vector<unsigned>> parse_cpu_list(std::string_view text)
{
    constexpr unsigned cpu_max = 4095;
    std::vector<unsigned> cpus;
    const auto read = [](std::string_view word, unsigned& cpu) {
        const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), cpu);
        return error == std::errc() && rest == word.data() + word.size() && cpu <= cpu_max;
    };
    for (bool has_more = true; has_more;) {
        const std::size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        has_more = comma != std::string_view::npos;
        text.remove_prefix(has_more ? comma + 1 : text.size());
        const std::size_t dash = part.find('-');
        unsigned first = 0;
        unsigned last = 0;
        const bool is_range = dash != std::string_view::npos;
        if (!read(part.substr(0, dash), first) ||
            (is_range && !read(part.substr(dash + 1), last))) {
            return Failure{std::string("'").append(part).append("' is no number or range of cpus")};
        }
        last = is_range ? last : first;
        if (last < first) {
            return Failure{
                std::string("the range '").append(part).append("' ends before it begins")};
        }
        for (unsigned cpu = first; cpu <= last; ++cpu) {
            for (const unsigned other : cpus) {
                if (other == cpu) {
                    return Failure{
                        std::string("cpu ").append(std::to_string(cpu)).append(" is there twice")};
                }
            }
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

}  // namespace headway::base
