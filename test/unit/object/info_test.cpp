// SPDX-License-Identifier: Apache-2.0
#include "object/info.hpp"

#include <gtest/gtest.h>

namespace headway::object {
namespace {

TEST(Info, KeepsTheOrderInWhichKeysWereSetFirst)
{
    Info info;
    info.set("b", "1");
    info.set("a", "2");
    info.set("b", "3");
    ASSERT_EQ(info.entries().size(), 2U);
    EXPECT_EQ(info.entries()[0], Info::Entry("b", "3"));
    EXPECT_EQ(info.entries()[1], Info::Entry("a", "2"));
    EXPECT_TRUE(info.erase("b"));
    EXPECT_FALSE(info.erase("b"));
    EXPECT_EQ(info.find("b"), nullptr);
    ASSERT_NE(info.find("a"), nullptr);
    EXPECT_EQ(*info.find("a"), "2");
}

TEST(Info, DescribesAProgramByItsArguments)
{
    char command[] = "./solver";
    char first[] = "-n";
    char second[] = "100";
    char* arguments[] = {command, first, second, nullptr};
    const Info info = describe_program(3, arguments);
    EXPECT_EQ(*info.find("command"), "./solver");
    EXPECT_EQ(*info.find("argv"), "-n 100");
    EXPECT_NE(info.find("wdir"), nullptr);
    EXPECT_NE(info.find("arch"), nullptr);
}

TEST(Info, DescribesThisProcess)
{
    const Info info = describe_program();
    ASSERT_NE(info.find("command"), nullptr);
    EXPECT_NE(info.find("command")->find("unit_object"), std::string::npos);
}

TEST(Info, LeavesOutWhatIsTooLong)
{
    std::string word(5000, 'x');
    char* arguments[] = {word.data(), word.data(), nullptr};
    const Info info = describe_program(2, arguments);
    EXPECT_EQ(info.find("command"), nullptr);
    EXPECT_EQ(info.find("argv"), nullptr);
}

}  // namespace
}  // namespace headway::object
