// SPDX-License-Identifier: Apache-2.0
// Options of headway-study: the words after its command, "--name value" and what is left.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway::study {

class OptionWords {
  public:
    explicit OptionWords(std::span<const std::string_view> words)
        : words_(words.begin(), words.end())
    {
    }

    /// Takes "--name value" out; nothing if it is not there. A name without a value is a fault.
    std::optional<std::string_view> take(std::string_view name);
    /// A whole number from `least` to `most`; `usual` if the option is not there.
    std::uint64_t take_number(std::string_view name, std::uint64_t usual, std::uint64_t least,
                              std::uint64_t most);

    /// Takes "--name" out; whether it was there.
    bool take_flag(std::string_view name) { return std::erase(words_, name) != 0; }

    /// What has not been taken.
    std::span<const std::string_view> rest() const noexcept { return words_; }
    /// The first thing that is wrong with an option, one sentence.
    const std::optional<std::string>& fault() const noexcept { return fault_; }

    static std::optional<std::uint64_t> number_of(std::string_view text);

  private:
    std::vector<std::string_view> words_;
    std::optional<std::string> fault_;
};

}  // namespace headway::study
