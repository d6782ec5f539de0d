// SPDX-License-Identifier: Apache-2.0
// headway-study: the graphs of collectives without anything that runs them.
#include <cstdio>
#include <string_view>
#include <vector>

#include "study/choices_command.hpp"
#include "study/fit_command.hpp"
#include "study/graph_command.hpp"
#include "study/sim_command.hpp"
#include "study/verify_command.hpp"

int main(int argc, char** argv)
{
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    const std::span<const std::string_view> rest = std::span(words).subspan(words.empty() ? 0 : 1);
    if (!words.empty() && words.front() == "verify") {
        return headway::study::run_verify(rest);
    }
    if (!words.empty() && words.front() == "sim") {
        return headway::study::run_sim(rest);
    }
    if (!words.empty() && words.front() == "graph") {
        return headway::study::run_graph(rest);
    }
    if (!words.empty() && words.front() == "fit") {
        return headway::study::run_fit(rest);
    }
    if (!words.empty() && words.front() == "choices") {
        return headway::study::run_choices(rest);
    }
    std::fprintf(stderr,
                 "headway: usage: headway-study choices [--algorithms]\n"
                 "                headway-study verify [--through P] [--jobs N] [NAME ...]\n"
                 "                headway-study sim COLLECTIVE [--nodes N] [--ppn P] ...\n"
                 "                headway-study fit FILE [--set KEY=VALUE ...]\n"
                 "                headway-study graph COLLECTIVE [--ranks P] ...\n");
    return 2;
}
