// SPDX-License-Identifier: Apache-2.0
#include "study/tuning_words.hpp"

#include <algorithm>
#include <vector>

#include "study/option_words.hpp"

namespace headway::study {

namespace {

constexpr std::uint64_t most = 60'000;

struct Field {
    std::string_view name;
    std::uint32_t coll::Tuning::* value;
    bool coll::Reads::* is_read;
};

constexpr Field fields[] = {
    {"radix", &coll::Tuning::radix, &coll::Reads::radix},
    {"ports", &coll::Tuning::ports, &coll::Reads::ports},
    {"window", &coll::Tuning::window, &coll::Reads::window},
    {"segments", &coll::Tuning::segments, &coll::Reads::segments},
};

const Field* find_field(std::string_view assignment)
{
    const auto* const found =
        std::ranges::find(fields, assignment.substr(0, assignment.find('=')), &Field::name);
    return found != std::end(fields) ? found : nullptr;
}

std::optional<std::uint64_t> value_of(std::string_view assignment)
{
    const std::size_t sign = assignment.find('=');
    const auto value = sign == std::string_view::npos
                           ? std::nullopt
                           : OptionWords::number_of(assignment.substr(sign + 1));
    return value && *value >= 1 && *value <= most ? value : std::nullopt;
}

}  // namespace

bool is_of_tuning(std::string_view assignment)
{
    return find_field(assignment) != nullptr;
}

std::optional<std::string> fault_of_tuning(std::string_view assignment)
{
    if (value_of(assignment)) {
        return std::nullopt;
    }
    return "'" + std::string(assignment) + "' wants a whole number from 1 to " +
           std::to_string(most) + " after " + std::string(find_field(assignment)->name) + "=";
}

void tune(coll::Tuning& tuning, const coll::Row& row, std::string_view assignment)
{
    const Field& field = *find_field(assignment);
    if (row.reads.*field.is_read) {
        tuning.*field.value = static_cast<std::uint32_t>(*value_of(assignment));
    }
}

std::string known_names(std::string_view collective)
{
    std::vector<std::string_view> names;
    for (const coll::Row& row : coll::table()) {
        if (name_of(row.collective) == collective) {
            names.push_back(row.name);
        }
    }
    for (const coll::Row& row : coll::table()) {
        const std::string_view name = name_of(row.collective);
        const bool is_new = std::ranges::find(names, name) == names.end();
        if (is_new &&
            (names.empty() || names.front().find(collective) != 0 || collective.empty())) {
            names.push_back(name);
        }
    }
    std::string text;
    for (const std::string_view name : names) {
        text += (text.empty() ? "" : ", ") + std::string(name);
    }
    return text;
}

}  // namespace headway::study
