// SPDX-License-Identifier: Apache-2.0
#include "boot/pmi1_line.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

namespace headway::boot {
namespace {

using Nodes = std::vector<int>;

TEST(Pmi1Line, ReadsCommandAndFields)
{
    const auto line = parse_pmi1_line("cmd=put kvsname=job-1  key=a value=b=c== empty= ");
    ASSERT_TRUE(line);
    EXPECT_EQ(line.value().command(), "put");
    EXPECT_FALSE(line.value().is_multi_line());
    EXPECT_EQ(line.value().find("kvsname"), "job-1");
    EXPECT_EQ(line.value().find("value"), "b=c==");
    EXPECT_EQ(line.value().find("empty"), "");
    EXPECT_FALSE(line.value().find("other"));
}

TEST(Pmi1Line, ReadsNumbers)
{
    const auto line = parse_pmi1_line("cmd=x rc=-1 size=12 big=2147483648 word=1a none=");
    ASSERT_TRUE(line);
    EXPECT_EQ(line.value().find_int("rc"), -1);
    EXPECT_EQ(line.value().find_int("size"), 12);
    EXPECT_FALSE(line.value().find_int("big"));
    EXPECT_FALSE(line.value().find_int("word"));
    EXPECT_FALSE(line.value().find_int("none"));
    EXPECT_FALSE(line.value().find_int("missing"));
}

TEST(Pmi1Line, KnowsLinesThatOpenABlock)
{
    const auto line = parse_pmi1_line("mcmd=spawn");
    ASSERT_TRUE(line);
    EXPECT_TRUE(line.value().is_multi_line());
    EXPECT_EQ(line.value().command(), "spawn");
}

TEST(Pmi1Line, MessageTakesTheRest)
{
    const auto line = parse_pmi1_line("cmd=abort exitcode=3 message=a b=c d");
    ASSERT_TRUE(line);
    EXPECT_EQ(line.value().find("message"), "a b=c d");
    EXPECT_EQ(line.value().find_int("exitcode"), 3);
    EXPECT_FALSE(line.value().find("b"));
}

TEST(Pmi1Line, ReasonsMayHoldBlanksBetweenFields)
{
    const auto line = parse_pmi1_line("cmd=get_result rc=-1 msg=no such  key value=unknown");
    ASSERT_TRUE(line);
    EXPECT_EQ(line.value().find("msg"), "no such  key");
    EXPECT_EQ(line.value().find("value"), "unknown");
}

TEST(Pmi1Line, RefusesWhatIsNoLine)
{
    for (const std::string text :
         {"", " ", "hello", "cmd", "cmd=", "=x", "key=a", "key=a cmd=put", "cmd=put word",
          "cmd=put =value", "cmd=put\tkey=a", "cmd=put\r", "\xff\xfe"}) {
        EXPECT_FALSE(parse_pmi1_line(text)) << text;
    }
    EXPECT_FALSE(parse_pmi1_line(std::string("cmd=\0x", 6)));
    const std::string longest = "cmd=" + std::string(pmi1_line_max - 4, 'x');
    EXPECT_TRUE(parse_pmi1_line(longest));
    EXPECT_FALSE(parse_pmi1_line(longest + "x"));
}

TEST(Pmi1Line, RefusalsShowTheFirstBytes)
{
    const auto line = parse_pmi1_line("\x01zap");
    ASSERT_FALSE(line);
    EXPECT_NE(line.sentence().find("'\\x01zap'"), std::string::npos) << line.sentence();
    EXPECT_EQ(quote_bytes(std::string(100, 'a')), "'" + std::string(60, 'a') + "...'");
}

TEST(Pmi1Number, TakesTheWholeTextOnly)
{
    EXPECT_EQ(parse_int("0"), 0);
    EXPECT_EQ(parse_int("-7"), -7);
    EXPECT_EQ(parse_int(std::to_string(INT_MAX)), INT_MAX);
    for (const char* text : {"", " 1", "1 ", "+1", "0x1", "1.0", "99999999999", "-"}) {
        EXPECT_FALSE(parse_int(text)) << text;
    }
}

TEST(ProcessMapping, RepeatsItsPattern)
{
    EXPECT_EQ(expand_process_mapping("(vector,(0,1,4))", 4).value(), (Nodes{0, 0, 0, 0}));
    EXPECT_EQ(expand_process_mapping("(vector,(0,1,1))", 3).value(), (Nodes{0, 0, 0}));
    EXPECT_EQ(expand_process_mapping("(vector,(0,2,1))", 5).value(), (Nodes{0, 1, 0, 1, 0}));
    EXPECT_EQ(expand_process_mapping("(vector,(0,2,2),(3,1,1))", 5).value(),
              (Nodes{0, 0, 1, 1, 3}));
    EXPECT_EQ(expand_process_mapping("(vector,(0,1,100))", 2).value(), (Nodes{0, 0}));
    EXPECT_EQ(expand_process_mapping("(vector,(0,268435456,268435456))", 2).value(), (Nodes{0, 0}));
    EXPECT_EQ(expand_process_mapping("(vector,(0,1,2),1)", 3).value(), (Nodes{0, 0, 1}));
    EXPECT_EQ(expand_process_mapping("(vector,[(0,2,1)]x2)", 4).value(), (Nodes{0, 1, 0, 1}));
    EXPECT_EQ(expand_process_mapping("(vector,[0,(1,2,1)]x2,7)", 7).value(),
              (Nodes{0, 1, 2, 0, 1, 2, 7}));
    EXPECT_EQ(expand_process_mapping("(vector,[(0,2,1)]x2000000000)", 3).value(), (Nodes{0, 1, 0}));
    EXPECT_TRUE(expand_process_mapping("", 2).value().empty());
}

TEST(ProcessMapping, RefusesWhatItCannotRead)
{
    for (const char* text : {"vector",
                             "(vector)",
                             "(vector,)",
                             "(vector,(0,1))",
                             "(vector,(0,1,1)",
                             "(vector,(0,0,1))",
                             "(vector,(0,1,0))",
                             "(vector,(-1,1,1))",
                             "(vector,(0,1,1))x",
                             "(vector,(a,1,1))",
                             "(vector,(0,1,99999999999))",
                             "(vector,(2147483647,2147483647,1))",
                             "(list,(0,1,1))",
                             "(vector,-1)",
                             "(vector,[0)",
                             "(vector,[]x2)",
                             "(vector,[0]x0)",
                             "(vector,[0]x)",
                             "(vector,[[0]x2]x2)",
                             "(vector,[0,]x2)"}) {
        EXPECT_FALSE(expand_process_mapping(text, 2)) << text;
    }
}

}  // namespace
}  // namespace headway::boot
