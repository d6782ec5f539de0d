// SPDX-License-Identifier: Apache-2.0
#include "option_reader.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace headway::launch {
namespace {

constexpr int unknown = '?';
constexpr int passed_over = 1;
constexpr int no_match = -2;

bool is_operand(const char* word)
{
    return word[0] != '-' || word[1] == '\0';
}

std::string_view name_in(const char* word)
{
    return {word, std::strcspn(word, "=")};
}

/// The option meant by `name`: the one of that name, else the only one that starts so. Null and
/// `is_ambiguous`: several do.
const option* find_long(const option* options, std::string_view name, bool& is_ambiguous)
{
    const option* found = nullptr;
    is_ambiguous = false;
    for (const option* each = options; each->name != nullptr; ++each) {
        const std::string_view candidate = each->name;
        if (candidate == name) {
            is_ambiguous = false;
            return each;
        }
        if (candidate.starts_with(name)) {
            const bool is_same = found != nullptr && found->has_arg == each->has_arg &&
                                 found->flag == each->flag && found->val == each->val;
            is_ambiguous = is_ambiguous || (found != nullptr && !is_same);
            found = found == nullptr ? each : found;
        }
    }
    return is_ambiguous ? nullptr : found;
}

}  // namespace

void OptionReader::start(const char*& short_options, bool is_posix)
{
    order_ = Order::permute;
    if (*short_options == '-' || *short_options == '+') {
        order_ = *short_options == '-' ? Order::in_place : Order::stop;
        ++short_options;
    } else if (is_posix) {
        order_ = Order::stop;
    }
    is_quiet_ = *short_options == ':';
}

/// Operands that were passed over go behind the options that followed them.
void OptionReader::move_operands(char** words, int end)
{
    std::rotate(words + operands_begin_, words + operands_end_, words + end);
    operands_begin_ += end - operands_end_;
    operands_end_ = end;
}

/// Goes to the next word that is an option. True: there is none, and `result` is the answer.
bool OptionReader::find_word(int count, char** words, OptionVariables& variables, int& result)
{
    operands_begin_ = std::min(operands_begin_, variables.optind);
    operands_end_ = std::min(operands_end_, variables.optind);
    if (order_ == Order::permute) {
        if (operands_begin_ != operands_end_ && operands_end_ != variables.optind) {
            move_operands(words, variables.optind);
        } else if (operands_end_ != variables.optind) {
            operands_begin_ = variables.optind;
        }
        while (variables.optind < count && is_operand(words[variables.optind])) {
            ++variables.optind;
        }
        operands_end_ = variables.optind;
    }
    if (variables.optind < count && std::strcmp(words[variables.optind], "--") == 0) {
        ++variables.optind;
        if (operands_begin_ != operands_end_ && operands_end_ != variables.optind) {
            move_operands(words, variables.optind);
        } else if (operands_begin_ == operands_end_) {
            operands_begin_ = variables.optind;
        }
        operands_end_ = count;
        variables.optind = count;
    }
    if (variables.optind >= count) {
        if (operands_begin_ != operands_end_) {
            variables.optind = operands_begin_;
        }
        result = -1;
        return true;
    }
    if (is_operand(words[variables.optind])) {
        result = -1;
        if (order_ == Order::in_place) {
            variables.optarg = words[variables.optind++];
            result = passed_over;
        }
        return true;
    }
    return false;
}

int OptionReader::take_long(int count, char** words, const Choice& choice,
                            OptionVariables& variables, std::string_view prefix,
                            const option& found)
{
    char* const equals = rest_ + name_in(rest_).size();
    rest_ = nullptr;
    ++variables.optind;
    const bool complains = variables.opterr != 0 && !is_quiet_;
    if (*equals == '=') {
        if (found.has_arg == no_argument) {
            if (complains) {
                std::fprintf(stderr, "%s: option '%s%s' doesn't allow an argument\n", words[0],
                             prefix.data(), found.name);
            }
            variables.optopt = found.val;
            return unknown;
        }
        variables.optarg = equals + 1;
    } else if (found.has_arg == required_argument) {
        if (variables.optind >= count) {
            if (complains) {
                std::fprintf(stderr, "%s: option '%s%s' requires an argument\n", words[0],
                             prefix.data(), found.name);
            }
            variables.optopt = found.val;
            return is_quiet_ ? ':' : unknown;
        }
        variables.optarg = words[variables.optind++];
    }
    if (choice.long_index != nullptr) {
        *choice.long_index = static_cast<int>(&found - choice.long_options);
    }
    if (found.flag != nullptr) {
        *found.flag = found.val;
        return 0;
    }
    return found.val;
}

int OptionReader::read_long(int count, char** words, const Choice& choice,
                            OptionVariables& variables, std::string_view prefix, bool is_doubtful)
{
    bool is_ambiguous = false;
    const option* const found = find_long(choice.long_options, name_in(rest_), is_ambiguous);
    if (found != nullptr) {
        return take_long(count, words, choice, variables, prefix, *found);
    }
    if (is_doubtful && !is_ambiguous) {
        return no_match;
    }
    if (variables.opterr != 0 && !is_quiet_) {
        std::fprintf(
            stderr,
            is_ambiguous ? "%s: option '%s%s' is ambiguous\n" : "%s: unrecognized option '%s%s'\n",
            words[0], prefix.data(), rest_);
    }
    rest_ = nullptr;
    ++variables.optind;
    variables.optopt = 0;
    return unknown;
}

int OptionReader::read_short(int count, char** words, const char* short_options,
                             OptionVariables& variables)
{
    const char letter = *rest_++;
    const char* const rule =
        letter == ':' || letter == ';' ? nullptr : std::strchr(short_options, letter);
    if (*rest_ == '\0') {
        ++variables.optind;
    }
    const bool complains = variables.opterr != 0 && !is_quiet_;
    if (rule == nullptr) {
        if (complains) {
            std::fprintf(stderr, "%s: invalid option -- '%c'\n", words[0], letter);
        }
        variables.optopt = static_cast<unsigned char>(letter);
        return unknown;
    }
    if (rule[1] != ':') {
        return letter;
    }
    if (*rest_ != '\0') {
        variables.optarg = rest_;
        ++variables.optind;
    } else if (rule[2] == ':') {
        variables.optarg = nullptr;
    } else if (variables.optind < count) {
        variables.optarg = words[variables.optind++];
    } else {
        if (complains) {
            std::fprintf(stderr, "%s: option requires an argument -- '%c'\n", words[0], letter);
        }
        variables.optopt = static_cast<unsigned char>(letter);
        rest_ = nullptr;
        return is_quiet_ ? ':' : unknown;
    }
    rest_ = nullptr;
    return letter;
}

int OptionReader::next(int count, char** words, const Choice& choice, OptionVariables variables,
                       bool is_posix)
{
    if (count < 1) {
        return -1;
    }
    variables.optarg = nullptr;
    if (variables.optind == 0 || !is_started_) {
        variables.optind = std::max(variables.optind, 1);
        operands_begin_ = operands_end_ = variables.optind;
        rest_ = nullptr;
        is_started_ = true;
    }
    const char* short_options = choice.short_options;
    start(short_options, is_posix);
    if (rest_ == nullptr || *rest_ == '\0') {
        int result = 0;
        if (find_word(count, words, variables, result)) {
            return result;
        }
        char* const word = words[variables.optind];
        if (choice.long_options != nullptr && word[1] == '-') {
            rest_ = word + 2;
            return read_long(count, words, choice, variables, "--", false);
        }
        rest_ = word + 1;
        const bool is_short = std::strchr(short_options, word[1]) != nullptr;
        if (choice.long_options != nullptr && choice.has_long_with_one_dash &&
            (word[2] != '\0' || !is_short)) {
            const int found = read_long(count, words, choice, variables, "-", is_short);
            if (found != no_match) {
                return found;
            }
        }
    }
    return read_short(count, words, short_options, variables);
}

}  // namespace headway::launch
