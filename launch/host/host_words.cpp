// SPDX-License-Identifier: Apache-2.0
#include "host_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace headway::launch {
namespace {

constexpr std::string_view library_word = "--shared-lib";
constexpr std::string_view bad_words =
    "the host program is given words that make no sense; start the job with mpiexec, or see "
    "headway-host without arguments";

struct Number {
    std::string_view word;
    int* value;
    int standard;
};
struct Switch {
    std::string_view word;
    bool* is_so;
    bool standard;
};

/// The one table of both directions.
struct Table {
    explicit Table(HostPlan& plan, int& rank_count)
        : numbers{{{"-n", &rank_count, 0},
                   {"--workers", &plan.crew.workers, 0},
                   {"--schedule-seed", &plan.crew.seed, 0},
                   {"--stack-kib", &plan.stack_kib, 0}}},
          switches{{{"--ult", &plan.crew.is_wanted, false},
                    {"--bind-ranks", &plan.crew.binds_ranks, false},
                    {"--float-workers", &plan.crew.pins_workers, true},
                    {"--sleeps-block", &plan.crew.sleeps_suspend, true},
                    {"--report-workers", &plan.crew.reports, false}}}
    {
    }

    std::array<Number, 4> numbers;
    std::array<Switch, 5> switches;
};

/// How many words of `words` were understood.
std::size_t read_option(std::span<const std::string> words, const Table& table,
                        HostPlan::Program& program)
{
    const std::string& name = words.front();
    for (const Switch& each : table.switches) {
        if (each.word == name) {
            *each.is_so = !each.standard;
            return 1;
        }
    }
    if (words.size() < 2) {
        return 0;
    }
    const std::string& value = words[1];
    if (name == library_word) {
        program.shared_libraries.push_back(value);
        return 2;
    }
    const auto* const found =
        std::ranges::find_if(table.numbers, [&](const Number& each) { return each.word == name; });
    if (found == table.numbers.end()) {
        return 0;
    }
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), *found->value);
    const bool is_good =
        error == std::errc() && end == value.data() + value.size() && *found->value >= 0;
    return is_good ? 2 : 0;
}

}  // namespace

std::vector<std::string> to_words(const HostPlan& plan)
{
    HostPlan copy = plan;
    const HostPlan::Program& program = plan.programs.front();
    int rank_count = program.rank_count;
    const Table table(copy, rank_count);
    std::vector<std::string> words;
    for (const Number& each : table.numbers) {
        if (*each.value != each.standard) {
            words.insert(words.end(), {std::string(each.word), std::to_string(*each.value)});
        }
    }
    for (const Switch& each : table.switches) {
        if (*each.is_so != each.standard) {
            words.emplace_back(each.word);
        }
    }
    for (const std::string& each : program.shared_libraries) {
        words.insert(words.end(), {std::string(library_word), each});
    }
    words.insert(words.end(), program.arguments.begin(), program.arguments.end());
    return words;
}

base::Result<HostPlan> read_words(std::span<const std::string> words,
                                  std::vector<std::string> environment)
{
    HostPlan plan;
    HostPlan::Program program;
    program.rank_count = 0;
    const Table table(plan, program.rank_count);
    while (!words.empty() && words.front().starts_with('-')) {
        const std::size_t count = read_option(words, table, program);
        if (count == 0) {
            return base::Failure{std::string(bad_words)};
        }
        words = words.subspan(count);
    }
    if (program.rank_count < 1 || words.empty()) {
        return base::Failure{std::string(bad_words)};
    }
    program.arguments.assign(words.begin(), words.end());
    program.environment = std::move(environment);
    plan.programs.push_back(std::move(program));
    return plan;
}

}  // namespace headway::launch
