// SPDX-License-Identifier: Apache-2.0
#include "host_words.hpp"

#include <gtest/gtest.h>

namespace headway::launch {
namespace {

HostPlan plan_of_all()
{
    HostPlan plan;
    plan.stack_kib = 512;
    plan.crew = {.is_wanted = true,
                 .workers = 2,
                 .seed = 7,
                 .binds_ranks = true,
                 .pins_workers = false,
                 .sleeps_suspend = false,
                 .reports = true};
    plan.programs.push_back({3, "", {"program", "-n", "argument"}, {}, {"libone.so", "libtwo.so"}});
    return plan;
}

TEST(HostWordsTest, WhatIsWrittenIsReadAgain)
{
    const HostPlan plan = plan_of_all();
    auto read = read_words(to_words(plan), {"NAME=value"});
    ASSERT_TRUE(read) << read.sentence();
    EXPECT_EQ(read.value().programs.front().environment, std::vector<std::string>{"NAME=value"});
    read.value().programs.front().environment.clear();
    EXPECT_EQ(to_bytes(read.value()), to_bytes(plan));
}

TEST(HostWordsTest, WhatIsUsualNeedsNoWords)
{
    HostPlan plan;
    plan.programs.push_back({4, "", {"program"}, {}, {}});
    EXPECT_EQ(to_words(plan), (std::vector<std::string>{"-n", "4", "program"}));
}

TEST(HostWordsTest, WhatMakesNoSenseIsRefused)
{
    using Words = std::vector<std::string>;
    for (const Words& words :
         {Words{}, Words{"program"}, Words{"-n"}, Words{"-n", "2"}, Words{"-n", "0", "program"},
          Words{"-n", "2x", "program"}, Words{"-n", "-2", "program"},
          Words{"--unknown", "-n", "2", "program"}}) {
        EXPECT_FALSE(read_words(words, {}));
    }
}

}  // namespace
}  // namespace headway::launch
