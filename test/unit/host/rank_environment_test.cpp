// SPDX-License-Identifier: Apache-2.0
#include "rank_environment.hpp"

#include <gtest/gtest.h>

namespace headway::launch {
namespace {

TEST(RankEnvironment, BehavesLikeThatOfAProcess)
{
    RankEnvironment environment({"A=1", "AB=2", "EMPTY="});
    EXPECT_STREQ(environment.get("A"), "1");
    EXPECT_STREQ(environment.get("AB"), "2");
    EXPECT_STREQ(environment.get("EMPTY"), "");
    EXPECT_EQ(environment.get("B"), nullptr);
    const char* const before = environment.get("A");
    EXPECT_TRUE(environment.set("A", "3", false));
    EXPECT_STREQ(environment.get("A"), "1");
    EXPECT_TRUE(environment.set("A", "3", true));
    EXPECT_STREQ(environment.get("A"), "3");
    EXPECT_STREQ(before, "1");
    EXPECT_FALSE(environment.set("", "x", true));
    EXPECT_FALSE(environment.set("A=B", "x", true));
    EXPECT_TRUE(environment.unset("A"));
    EXPECT_EQ(environment.get("A"), nullptr);
    char own[] = "NEW=text";
    environment.put(own);
    own[4] = 'T';
    EXPECT_STREQ(environment.get("NEW"), "Text");
    environment.clear();
    EXPECT_EQ(environment.get("AB"), nullptr);
    EXPECT_EQ(environment.array()[0], nullptr);
}

TEST(RankEnvironment, KeepsTheProgramsVariableRight)
{
    RankEnvironment environment({"A=1"});
    char** variable = nullptr;
    environment.attach(&variable);
    ASSERT_NE(variable, nullptr);
    EXPECT_STREQ(variable[0], "A=1");
    for (int i = 0; i < 100; ++i) {
        std::string name("N");
        name += std::to_string(i);
        EXPECT_TRUE(environment.set(name, "x", true));
    }
    int count = 0;
    for (char** each = variable; *each != nullptr; ++each) {
        ++count;
    }
    EXPECT_EQ(count, 101);
    // A program may put its own array in the place of ours.
    char text[] = "OWN=2";
    char* own[] = {text, nullptr};
    variable = own;
    EXPECT_STREQ(environment.get("OWN"), "2");
    EXPECT_EQ(environment.get("A"), nullptr);
}

}  // namespace
}  // namespace headway::launch
