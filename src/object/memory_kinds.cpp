// SPDX-License-Identifier: Apache-2.0
#include "object/memory_kinds.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace headway::object {

namespace {

constexpr std::array<std::string_view, 2> always = {"system", "mpi"};
/// Of the kind "mpi": where its memory comes from.
constexpr std::string_view restricted = "mpi:alloc_mem";

std::string_view trim(std::string_view text)
{
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

}  // namespace

std::string supported_memory_kinds(std::string_view requested)
{
    std::vector<std::string_view> kinds;
    const auto add = [&](std::string_view kind) {
        if (std::ranges::find(kinds, kind) == kinds.end()) {
            kinds.push_back(kind);
        }
    };
    for (std::size_t begin = 0; begin < requested.size();) {
        const std::size_t end = std::min(requested.find(',', begin), requested.size());
        const std::string_view kind = trim(requested.substr(begin, end - begin));
        if (kind == restricted || std::ranges::find(always, kind) != always.end()) {
            add(kind);
        }
        begin = end + 1;
    }
    std::ranges::for_each(always, add);
    std::string text;
    for (const std::string_view kind : kinds) {
        text.append(text.empty() ? "" : ",").append(kind);
    }
    return text;
}

}  // namespace headway::object
