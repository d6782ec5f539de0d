// SPDX-License-Identifier: Apache-2.0
#include "study/verify_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "study/option_words.hpp"
#include "study/other_graphs.hpp"
#include "study/sweep.hpp"

namespace headway::study {

using coll::Algorithm;

namespace {

struct Family {
    std::string name;
    std::function<Swept(const Reach&)> sweep;
};

std::vector<Family> families()
{
    std::vector<Family> all;
    for (const coll::Row& row : coll::table()) {
        all.push_back(
            {std::string(row.name), [&row](const Reach& reach) { return sweep(row, reach); }});
    }
    all.push_back({"neighbor_exchange", sweep_neighbors});
    const auto add_between = [&](const NamedAlgorithm& named) {
        all.push_back({std::string(named.name), [one = named.algorithm](const Reach& reach) {
                           return sweep_between_groups(one, reach);
                       }});
    };
    add_between({"inter_barrier", Algorithm::barrier_dissemination});
    std::ranges::for_each(algorithms_between_groups(), add_between);
    return all;
}

bool is_wanted(const Family& family, std::span<const std::string_view> names)
{
    return names.empty() || std::ranges::any_of(names, [&](std::string_view name) {
               return family.name.starts_with(name);
           });
}

int complain(const std::string& sentence)
{
    std::fprintf(stderr, "headway: verify: %s\n", sentence.c_str());
    return 2;
}

}  // namespace

int run_verify(std::span<const std::string_view> arguments)
{
    Reach reach{.through = 70, .samples = {96, 128, 243}, .all_roots_through = 70};
    OptionWords words(arguments);
    const bool is_short = std::ranges::find(arguments, "--through") != arguments.end();
    reach.through = static_cast<std::uint32_t>(words.take_number("--through", 70, 1, 4096));
    if (is_short) {
        reach.samples.clear();
    }
    if (words.fault()) {
        return complain(*words.fault());
    }
    const auto names = words.rest();
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t cases = 0;
    std::uint64_t messages = 0;
    int failed = 0;
    int done = 0;
    for (const Family& family : families()) {
        if (!is_wanted(family, names)) {
            continue;
        }
        const auto start = std::chrono::steady_clock::now();
        const Swept swept = family.sweep(reach);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        std::printf("%-30s %8llu calls %10llu messages %7.2f s  %s\n", family.name.c_str(),
                    static_cast<unsigned long long>(swept.cases),
                    static_cast<unsigned long long>(swept.messages), took.count(),
                    swept.fault ? swept.fault->c_str() : "ok");
        std::fflush(stdout);
        cases += swept.cases;
        messages += swept.messages;
        failed += swept.fault ? 1 : 0;
        ++done;
    }
    if (done == 0) {
        return complain("no algorithm has a name that begins with '" + std::string(names.front()) +
                        "'");
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%d algorithms, %llu calls, %llu messages: %d wrong (%.1f s)\n", done,
                static_cast<unsigned long long>(cases), static_cast<unsigned long long>(messages),
                failed, took.count());
    return failed == 0 ? 0 : 1;
}

}  // namespace headway::study
