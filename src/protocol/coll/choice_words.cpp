// SPDX-License-Identifier: Apache-2.0
#include "protocol/coll/choice_words.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text_file.hpp"

namespace headway::protocol::coll {

namespace {

constexpr std::string_view cores_words[] = {"any", "own", "shared"};
constexpr std::string_view nodes_words[] = {"any", "one", "several", "process", "levels"};
constexpr std::string_view any_word = "any";
constexpr std::string_view blanks = " \t\r";
constexpr std::string_view suffixes[] = {"", "K", "M", "G", "T"};  ///< powers of 1024

/// A number that follows an algorithm's name after ':'.
struct Parameter {
    std::string_view name;
    std::uint32_t Tuning::* value;
    bool Reads::* is_read;
    std::uint32_t lowest;
    std::uint32_t highest;
};

constexpr Parameter parameters[] = {
    {"radix", &Tuning::radix, &Reads::radix, 2, 1024},
    {"ports", &Tuning::ports, &Reads::ports, 1, 1024},
    {"window", &Tuning::window, &Reads::window, 1, 65536},
    {"segments", &Tuning::segments, &Reads::segments, 1, 1024},
};

struct Forcing {
    std::string_view variable;
    Collective collective;
    std::string config::Knobs::* word;
};

constexpr Forcing forcings[] = {
    {"HEADWAY_COLL_BARRIER", Collective::barrier, &config::Knobs::coll_barrier},
    {"HEADWAY_COLL_BCAST", Collective::bcast, &config::Knobs::coll_bcast},
    {"HEADWAY_COLL_REDUCE", Collective::reduce, &config::Knobs::coll_reduce},
    {"HEADWAY_COLL_ALLREDUCE", Collective::allreduce, &config::Knobs::coll_allreduce},
    {"HEADWAY_COLL_GATHER", Collective::gather, &config::Knobs::coll_gather},
    {"HEADWAY_COLL_SCATTER", Collective::scatter, &config::Knobs::coll_scatter},
    {"HEADWAY_COLL_ALLGATHER", Collective::allgather, &config::Knobs::coll_allgather},
    {"HEADWAY_COLL_ALLGATHERV", Collective::allgatherv, &config::Knobs::coll_allgatherv},
    {"HEADWAY_COLL_ALLTOALL", Collective::alltoall, &config::Knobs::coll_alltoall},
    {"HEADWAY_COLL_ALLTOALLV", Collective::alltoallv, &config::Knobs::coll_alltoallv},
    {"HEADWAY_COLL_SCAN", Collective::scan, &config::Knobs::coll_scan},
    {"HEADWAY_COLL_EXSCAN", Collective::exscan, &config::Knobs::coll_exscan},
    {"HEADWAY_COLL_REDUCE_SCATTER", Collective::reduce_scatter,
     &config::Knobs::coll_reduce_scatter},
};
static_assert(std::size(forcings) == chosen_collectives);

/// Input that users may have mistaken for a tuning file is quoted in part, and only as text.
std::string in_quotes(std::string_view word)
{
    constexpr std::size_t most = 60;
    std::string text = "'";
    for (const char letter : word.substr(0, most)) {
        text += letter >= ' ' && letter <= '~' ? letter : '?';
    }
    return text + (word.size() > most ? "...'" : "'");
}

/// Without the name of its collective, which stands before it.
std::string_view short_name(const Row& row)
{
    return row.name.substr(name_of(row.collective).size() + 1);
}

const Row* find_choosable(std::string_view name, Collective collective)
{
    for (const Row& row : table()) {
        if (can_be_chosen(row, collective) && (short_name(row) == name || row.name == name)) {
            return &row;
        }
    }
    return nullptr;
}

/// "knomial takes its radix, from 2 to 1024, after ':'" and its like.
std::string parameters_wanted(const Row& row)
{
    std::string text;
    for (const Parameter& parameter : parameters) {
        if (row.reads.*parameter.is_read) {
            text += (text.empty() ? " takes its " : ", then its ") + std::string(parameter.name) +
                    ", a whole number from " + std::to_string(parameter.lowest) + " to " +
                    std::to_string(parameter.highest) + ", after ':'";
        }
    }
    return std::string(short_name(row)) + (text.empty() ? " takes no parameter" : text);
}

/// Takes everything up to `mark` off the text, and the mark.
std::string_view take_up_to(std::string_view& text, std::string_view mark)
{
    const std::size_t at = std::min(text.find(mark), text.size());
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(std::min(at + mark.size(), text.size()));
    return taken;
}

std::optional<std::uint64_t> number_of(std::string_view word)
{
    std::uint64_t number = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, number);
    if (error != std::errc()) {
        return std::nullopt;
    }
    const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
    const auto* const found = std::ranges::find(suffixes, suffix);
    const auto power = static_cast<std::size_t>(found - suffixes);
    if (found == std::end(suffixes) || number > UINT64_MAX >> (10 * power)) {
        return std::nullopt;
    }
    return number << (10 * power);
}

std::optional<Range> range_of(std::string_view word)
{
    if (word == any_word) {
        return Range{};
    }
    std::string_view rest = word;
    const std::string_view first = take_up_to(rest, "..");
    if (first.size() == word.size()) {
        const auto number = number_of(first);
        return number ? std::optional<Range>({*number, *number}) : std::nullopt;
    }
    const auto low = first.empty() ? std::optional<std::uint64_t>(0) : number_of(first);
    const auto high = rest.empty() ? std::optional<std::uint64_t>(UINT64_MAX) : number_of(rest);
    const bool is_range = low && high && *low <= *high && first.size() + rest.size() != 0;
    return is_range ? std::optional<Range>({*low, *high}) : std::nullopt;
}

std::string written(std::uint64_t number)
{
    std::size_t power = 0;
    while (number != 0 && number % 1024 == 0 && power + 1 < std::size(suffixes)) {
        number /= 1024;
        ++power;
    }
    return std::to_string(number) + std::string(suffixes[power]);
}

std::string written(Range range)
{
    if (range == Range{}) {
        return std::string(any_word);
    }
    if (range.first == range.last) {
        return written(range.first);
    }
    return (range.first == 0 ? "" : written(range.first)) + ".." +
           (range.last == UINT64_MAX ? "" : written(range.last));
}

std::optional<Collective> collective_of(std::string_view word)
{
    for (const Forcing& forcing : forcings) {
        if (name_of(forcing.collective) == word) {
            return forcing.collective;
        }
    }
    return std::nullopt;
}

base::Failure no_collective(std::string_view word)
{
    std::string text = "there is no collective " + in_quotes(word) + "; there are ";
    for (const Forcing& forcing : forcings) {
        text += (&forcing == forcings ? "" : ", ") + std::string(name_of(forcing.collective));
    }
    return {text};
}

base::Result<Choice> choice_of(const std::vector<std::string_view>& words)
{
    if (words.size() != 6) {
        return base::Failure{"it has " + std::to_string(words.size()) +
                             (words.size() == 1 ? " word" : " words") +
                             ", not the six: collective, ranks, bytes, cores, nodes, algorithm"};
    }
    Choice choice;
    const auto collective = collective_of(words[0]);
    if (!collective) {
        return no_collective(words[0]);
    }
    choice.collective = *collective;
    for (const auto& [word, range, name] : {std::tuple(words[1], &choice.ranks, "ranks"),
                                            std::tuple(words[2], &choice.bytes, "bytes")}) {
        const auto found = range_of(word);
        if (!found) {
            return base::Failure{in_quotes(word) + " are no " + name +
                                 "; write a number, first.., ..last, first..last or any"};
        }
        *range = *found;
    }
    const auto* const cores = std::ranges::find(cores_words, words[3]);
    if (cores == std::end(cores_words)) {
        return base::Failure{in_quotes(words[3]) + " are no cores; write any, own or shared"};
    }
    choice.cores = static_cast<Cores>(cores - cores_words);
    const auto* const nodes = std::ranges::find(nodes_words, words[4]);
    if (nodes == std::end(nodes_words)) {
        return base::Failure{in_quotes(words[4]) +
                             " are no nodes; write any, one, process, several or levels"};
    }
    choice.nodes = static_cast<Nodes>(nodes - nodes_words);
    if (auto parsed = parse_algorithm(words[5], choice); !parsed) {
        return base::Failure{parsed.sentence()};
    }
    return choice;
}

std::vector<std::string_view> words_of(std::string_view line)
{
    std::vector<std::string_view> words;
    std::string_view rest = line.substr(0, line.find('#'));
    while (true) {
        const std::size_t begin = rest.find_first_not_of(blanks);
        if (begin == std::string_view::npos) {
            return words;
        }
        rest.remove_prefix(begin);
        const std::size_t end = std::min(rest.find_first_of(blanks), rest.size());
        words.push_back(rest.substr(0, end));
        rest.remove_prefix(end);
    }
}

base::Result<std::string> text_of(const std::string& name)
{
    using State = base::TextFile::State;
    base::TextFile file = base::read_text_file(name);
    if (file.state != State::read) {
        return base::Failure{"HEADWAY_TUNING is " + in_quotes(name) +
                             (file.state == State::too_long
                                  ? ", which is longer than a tuning file can be"
                                  : ", which cannot be read") +
                             "; name a tuning file, or unset it"};
    }
    return std::move(file.text);
}

}  // namespace

std::string algorithms_of(Collective collective)
{
    std::string text;
    for (const Row& row : table()) {
        if (!can_be_chosen(row, collective)) {
            continue;
        }
        text += (text.empty() ? "" : ", ") + std::string(short_name(row));
        for (const Parameter& parameter : parameters) {
            if (row.reads.*parameter.is_read) {
                text += "[:";
                text += parameter.name;
                text += ']';
            }
        }
    }
    return text;
}

base::Outcome parse_algorithm(std::string_view word, Choice& choice)
{
    std::string_view rest = word;
    const Row* const row = find_choosable(take_up_to(rest, ":"), choice.collective);
    if (row == nullptr) {
        return base::Failure{"there is no algorithm " + in_quotes(word) + " of " +
                             std::string(name_of(choice.collective)) + "; there are " +
                             algorithms_of(choice.collective)};
    }
    choice.algorithm = row->algorithm;
    choice.tuning = row->tuning;
    bool is_right = word.back() != ':';
    for (const Parameter& parameter : parameters) {
        if (rest.empty() || !(row->reads.*parameter.is_read)) {
            continue;
        }
        const auto number = number_of(take_up_to(rest, ":"));
        is_right =
            is_right && number && *number >= parameter.lowest && *number <= parameter.highest;
        choice.tuning.*parameter.value = static_cast<std::uint32_t>(number.value_or(0));
    }
    if (!is_right || !rest.empty()) {
        return base::Failure{in_quotes(word) + " is no algorithm of " +
                             std::string(name_of(choice.collective)) + ": " +
                             parameters_wanted(*row)};
    }
    return base::Done{};
}

base::Result<std::vector<Choice>> parse_choices(std::string_view text, std::string_view name)
{
    std::vector<Choice> choices;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::vector<std::string_view> words = words_of(take_up_to(text, "\n"));
        if (words.empty()) {
            continue;
        }
        auto choice = choice_of(words);
        if (!choice) {
            return base::Failure{"HEADWAY_TUNING, file " + in_quotes(name) + ", line " +
                                 std::to_string(number) + ": " + choice.sentence()};
        }
        choices.push_back(choice.value());
    }
    return choices;
}

base::Result<Choices> read_choices(const config::Knobs& knobs)
{
    std::vector<Choice> choices;
    for (const Forcing& forcing : forcings) {
        const std::string& word = knobs.*forcing.word;
        Choice choice{.collective = forcing.collective};
        if (word.empty()) {
            continue;
        }
        if (auto parsed = parse_algorithm(word, choice); !parsed) {
            return base::Failure{std::string(forcing.variable) + ": " + parsed.sentence()};
        }
        choices.push_back(choice);
    }
    if (!knobs.tuning.empty()) {
        const auto text = text_of(knobs.tuning);
        if (!text) {
            return base::Failure{text.sentence()};
        }
        const auto lines = parse_choices(text.value(), knobs.tuning);
        if (!lines) {
            return base::Failure{lines.sentence()};
        }
        choices.insert(choices.end(), lines.value().begin(), lines.value().end());
    }
    if (!Choices::has_room_for(choices.size())) {
        return base::Failure{"HEADWAY_TUNING, file " + in_quotes(knobs.tuning) + ", has " +
                             std::to_string(choices.size()) +
                             " choices, more than there is room for; merge some"};
    }
    return Choices(choices);
}

std::string line_of(const Choice& choice)
{
    const Row& row = row_of(choice.algorithm);
    std::string line(name_of(choice.collective));
    const auto add = [&line](std::size_t column, const std::string& word) {
        line.resize(std::max(line.size() + 1, column), ' ');
        line += word;
    };
    add(16, written(choice.ranks));
    add(26, written(choice.bytes));
    add(42, std::string(cores_words[static_cast<std::size_t>(choice.cores)]));
    add(50, std::string(nodes_words[static_cast<std::size_t>(choice.nodes)]));
    add(59, std::string(short_name(row)));
    for (const Parameter& parameter : parameters) {
        if (row.reads.*parameter.is_read) {
            line += ':';
            line += std::to_string(choice.tuning.*parameter.value);
        }
    }
    return line;
}

}  // namespace headway::protocol::coll
