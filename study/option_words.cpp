// SPDX-License-Identifier: Apache-2.0
#include "study/option_words.hpp"

#include <algorithm>
#include <charconv>

namespace headway::study {

std::optional<std::string_view> OptionWords::take(std::string_view name)
{
    const auto found = std::ranges::find(words_, name);
    if (found == words_.end()) {
        return std::nullopt;
    }
    if (found + 1 == words_.end()) {
        fault_ = fault_.value_or(std::string(name) + " wants a value");
        words_.erase(found);
        return std::nullopt;
    }
    const std::string_view value = found[1];
    words_.erase(found, found + 2);
    return value;
}

std::optional<std::uint64_t> OptionWords::number_of(std::string_view text)
{
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return number;
}

std::uint64_t OptionWords::take_number(std::string_view name, std::uint64_t usual,
                                       std::uint64_t least, std::uint64_t most)
{
    const auto text = take(name);
    if (!text) {
        return usual;
    }
    const auto number = number_of(*text);
    if (!number || *number < least || *number > most) {
        fault_ = fault_.value_or(std::string(name) + " is '" + std::string(*text) +
                                 "'; it wants a whole number from " + std::to_string(least) +
                                 " to " + std::to_string(most));
        return usual;
    }
    return *number;
}

}  // namespace headway::study
