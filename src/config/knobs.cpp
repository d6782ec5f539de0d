// SPDX-License-Identifier: Apache-2.0
#include "config/knobs.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <string_view>

namespace headway::config {
namespace {

constexpr std::string_view prefix = "HEADWAY_";

std::string variable_of(std::string_view knob)
{
    std::string name(prefix);
    for (const char letter : knob) {
        name += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
    return name;
}

std::optional<std::uint64_t> scale_of(std::string_view suffix)
{
    if (suffix.empty()) {
        return 1;
    }
    const std::size_t power = std::string_view("KMGT").find(suffix.front());
    const std::size_t lower = std::string_view("kmgt").find(suffix.front());
    const std::size_t found = std::min(power, lower);
    if (suffix.size() != 1 || found == std::string_view::npos) {
        return std::nullopt;
    }
    return std::uint64_t{1} << (10 * (found + 1));
}

std::optional<std::uint64_t> parse_number(std::string_view text, KnobType type)
{
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc()) {
        return std::nullopt;
    }
    const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
    const std::optional<std::uint64_t> scale = scale_of(suffix);
    if (!scale || (type == KnobType::count && !suffix.empty()) || number > UINT64_MAX / *scale) {
        return std::nullopt;
    }
    return number * *scale;
}

/// Index of `word` in a list separated by '|'.
std::optional<std::uint64_t> index_in(std::string_view list, std::string_view word)
{
    std::uint64_t index = 0;
    while (!list.empty()) {
        const std::size_t bar = std::min(list.find('|'), list.size());
        if (list.substr(0, bar) == word) {
            return index;
        }
        list.remove_prefix(std::min(bar + 1, list.size()));
        ++index;
    }
    return std::nullopt;
}

/// Largest power of 1024 that divides the value, so that limits read as people write them.
std::string written(std::uint64_t value, KnobType type)
{
    constexpr std::string_view suffixes = "KMGT";
    std::size_t power = 0;
    while (type == KnobType::bytes && value != 0 && value % 1024 == 0 && power < suffixes.size()) {
        value /= 1024;
        ++power;
    }
    std::string text = std::to_string(value);
    if (power > 0) {
        text += suffixes[power - 1];
    }
    return text;
}

std::string allowed(const KnobRow& row)
{
    if (row.type == KnobType::choice) {
        std::string words(row.choices);
        for (std::size_t at = words.find('|'); at != std::string::npos; at = words.find('|')) {
            words.replace(at, 1, ", ");
        }
        return "one of " + words;
    }
    return (row.type == KnobType::bytes ? "a number of bytes (suffixes K, M, G, T) from "
                                        : "a whole number from ") +
           written(row.lowest, row.type) + " to " + written(row.highest, row.type);
}

base::Failure bad_value(const KnobRow& row, std::string_view text)
{
    return {variable_of(row.name) + " is '" + std::string(text) + "'; set it to " + allowed(row) +
            ", or unset it"};
}

base::Outcome store_text(Knobs& knobs, const KnobRow& row, std::string_view text)
{
    if (row.type == KnobType::choice && index_in(row.not_built, text)) {
        return base::Failure{variable_of(row.name) + " is '" + std::string(text) +
                             "', which is not built yet in this version; unset it"};
    }
    if (row.type == KnobType::text) {
        row.store_text(knobs, text);
        return base::Done{};
    }
    if (!row.with_list.empty() && text.starts_with(row.with_list) &&
        text.substr(row.with_list.size()).starts_with(':')) {
        row.store_text(knobs, text.substr(row.with_list.size() + 1));
        text = row.with_list;
    }
    const std::optional<std::uint64_t> value =
        row.type == KnobType::choice ? index_in(row.choices, text) : parse_number(text, row.type);
    if (!value || *value < row.lowest || *value > row.highest) {
        return bad_value(row, text);
    }
    row.store(knobs, *value);
    return base::Done{};
}

/// Levenshtein's distance: how many letters to add, drop or change.
std::size_t distance(std::string_view left, std::string_view right)
{
    std::vector<std::size_t> row(right.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= left.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const std::size_t above = row[j];
            const std::size_t change = left[i - 1] == right[j - 1] ? 0 : 1;
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + change});
            diagonal = above;
        }
    }
    return row.back();
}

}  // namespace

base::Result<Knobs> load_knobs(const platform::Environment& environment)
{
    Knobs knobs;
    for (const KnobRow& row : knob_table) {
        const std::optional<std::string_view> text = environment.find(variable_of(row.name));
        if (!text || text->empty()) {
            continue;
        }
        const base::Outcome stored = store_text(knobs, row, *text);
        if (!stored) {
            return base::Failure{stored.sentence()};
        }
    }
    return knobs;
}

std::vector<std::string_view> choices_of(const KnobRow& row)
{
    std::vector<std::string_view> words;
    for (std::string_view list = row.choices; !list.empty();) {
        const std::size_t bar = std::min(list.find('|'), list.size());
        words.push_back(list.substr(0, bar));
        list.remove_prefix(std::min(bar + 1, list.size()));
    }
    return words;
}

bool takes_value(const KnobRow& row, std::uint64_t value)
{
    if (value < row.lowest || value > row.highest) {
        return false;
    }
    return row.type != KnobType::choice ||
           !index_in(row.not_built, choices_of(row)[static_cast<std::size_t>(value)]);
}

std::vector<std::string> unknown_knob_warnings(const platform::Environment& environment)
{
    std::vector<std::string> warnings;
    for (const auto& [name, value] : environment.variables()) {
        if (!name.starts_with(prefix) || std::ranges::count(not_knobs, name) > 0) {
            continue;
        }
        std::string nearest;
        std::size_t nearest_distance = SIZE_MAX;
        for (const KnobRow& row : knob_table) {
            const std::string known = variable_of(row.name);
            if (distance(name, known) < nearest_distance) {
                nearest_distance = distance(name, known);
                nearest = known;
            }
        }
        if (nearest_distance != 0) {
            warnings.push_back(
                name + " is no setting of Headway and has no effect; the nearest is " + nearest);
        }
    }
    return warnings;
}

}  // namespace headway::config
