// SPDX-License-Identifier: Apache-2.0
// Against the C library's own getopt, which is what programs expect.
#include "option_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

namespace headway::launch {
namespace {

int flag_value = 0;

const option long_options[] = {
    {"alpha", no_argument, nullptr, 'A'},       {"alphabet", required_argument, nullptr, 'B'},
    {"beta", optional_argument, nullptr, 'C'},  {"flag", no_argument, &flag_value, 7},
    {"delta", required_argument, nullptr, 'D'}, {nullptr, 0, nullptr, 0},
};

struct Reading {
    std::vector<std::string> steps;  ///< what each call answered, with all that it set
    std::vector<std::string> words;  ///< as they were left
};

std::vector<char*> pointers_to(std::vector<std::string>& words)
{
    std::vector<char*> pointers;
    for (std::string& each : words) {
        pointers.push_back(each.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

std::string step(int answer, const char* argument, int index, int unknown, int long_index)
{
    return std::to_string(answer) + " " + (argument == nullptr ? "-" : argument) + " " +
           std::to_string(index) + " " + std::to_string(answer == '?' ? unknown : 0) + " " +
           std::to_string(long_index) + " " + std::to_string(flag_value);
}

using Next = int (*)(int, char* const*, const char*, const option*, int*);

Reading run_libc(std::vector<std::string> words, const char* letters, Next next)
{
    auto pointers = pointers_to(words);
    Reading run;
    flag_value = 0;
    optind = 0;  // start again
    opterr = 0;
    while (true) {
        int long_index = -1;
        const int answer = next(static_cast<int>(words.size()), pointers.data(), letters,
                                long_options, &long_index);
        run.steps.push_back(step(answer, optarg, optind, optopt, long_index));
        if (answer == -1) {
            break;
        }
    }
    run.words.assign(pointers.begin(), pointers.end() - 1);
    return run;
}

Reading run_ours(std::vector<std::string> words, const char* letters, bool has_long,
                 bool is_long_only)
{
    auto pointers = pointers_to(words);
    Reading run;
    flag_value = 0;
    OptionReader reader;
    char* argument = nullptr;
    int index = 1;
    int complains = 0;
    int unknown = 0;
    while (true) {
        int long_index = -1;
        const OptionReader::Choice choice{letters, has_long ? long_options : nullptr, &long_index,
                                          is_long_only};
        const int answer = reader.next(static_cast<int>(words.size()), pointers.data(), choice,
                                       {argument, index, complains, unknown}, false);
        run.steps.push_back(step(answer, argument, index, unknown, long_index));
        if (answer == -1) {
            break;
        }
    }
    run.words.assign(pointers.begin(), pointers.end() - 1);
    return run;
}

int plain(int count, char* const* words, const char* letters, const option*, int*)
{
    return ::getopt(count, words, letters);
}

std::vector<std::string> random_words(std::mt19937& random)
{
    static const std::vector<std::string> choices = {
        "-a",           "-ab",  "-c",        "-cvalue", "-acvalue", "-d",      "-dvalue",
        "-x",           "-",    "--",        "operand", "other",    "--alpha", "--alphabet",
        "--alphabet=x", "--al", "--alp=1",   "--beta",  "--beta=2", "--flag",  "--fl",
        "--delta",      "--d",  "--nothing", "-alpha",  "-delta",   "-de=3",   "-a-",
    };
    std::vector<std::string> words{"program"};
    for (auto count = random() % 7; count > 0; --count) {
        words.push_back(choices[random() % choices.size()]);
    }
    return words;
}

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& each : words) {
        text += each + " ";
    }
    return text;
}

class OptionReaderAgainstLibc : public testing::TestWithParam<const char*> {};

TEST_P(OptionReaderAgainstLibc, AnswersTheSame)
{
    std::mt19937 random(3);
    for (int round = 0; round < 20000; ++round) {
        const auto words = random_words(random);
        const struct {
            Next libc;
            bool has_long;
            bool is_long_only;
        } kinds[] = {{&plain, false, false},
                     {&::getopt_long, true, false},
                     {&::getopt_long_only, true, true}};
        for (const auto& kind : kinds) {
            const Reading expected = run_libc(words, GetParam(), kind.libc);
            const Reading found = run_ours(words, GetParam(), kind.has_long, kind.is_long_only);
            ASSERT_EQ(found.steps, expected.steps) << joined(words);
            ASSERT_EQ(found.words, expected.words) << joined(words);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Letters, OptionReaderAgainstLibc,
                         testing::Values("abc:d::", "+abc:d::", "-abc:d::", ":abc:d::"));

}  // namespace
}  // namespace headway::launch
