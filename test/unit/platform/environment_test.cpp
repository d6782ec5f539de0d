// SPDX-License-Identifier: Apache-2.0
#include "platform/environment.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace headway::platform {
namespace {

TEST(Environment, CopiesTheProcess)
{
    ASSERT_EQ(setenv("ENVIRONMENT_TEST_NAME", "a=b", 1), 0);
    const Environment copy = Environment::of_process();
    ASSERT_EQ(setenv("ENVIRONMENT_TEST_NAME", "changed", 1), 0);
    EXPECT_EQ(copy.find("ENVIRONMENT_TEST_NAME"), "a=b");
    EXPECT_EQ(copy.find("ENVIRONMENT_TEST_NAM"), std::nullopt);
    unsetenv("ENVIRONMENT_TEST_NAME");
}

TEST(Environment, AnEmptyValueIsNotAnAbsentOne)
{
    const Environment environment(std::vector<Environment::Variable>{{"EMPTY", ""}});
    EXPECT_EQ(environment.find("EMPTY"), "");
    EXPECT_FALSE(environment.find("ABSENT").has_value());
}

}  // namespace
}  // namespace headway::platform
