// SPDX-License-Identifier: Apache-2.0
#include "config/knobs.hpp"

#include <gtest/gtest.h>

namespace headway::config {
namespace {

base::Result<Knobs> load(std::vector<platform::Environment::Variable> variables)
{
    return load_knobs(platform::Environment(std::move(variables)));
}

std::string sentence_of(const char* name, const char* value)
{
    const base::Result<Knobs> knobs = load({{name, value}});
    return knobs.has_value() ? "accepted" : knobs.sentence();
}

TEST(Knobs, DefaultsAreThoseOfTheSpecification)
{
    const base::Result<Knobs> knobs = load({{"HOME", "/"}, {"HEADWAY_EAGER_LIMIT", ""}});
    ASSERT_TRUE(knobs.has_value());
    EXPECT_EQ(knobs.value().progress, ProgressChoice::agent);
    EXPECT_EQ(knobs.value().copy_at_once, 16384U);
    EXPECT_EQ(knobs.value().copy_piece, 65536U);
    EXPECT_EQ(knobs.value().node_heap, NodeHeapChoice::automatic);
    EXPECT_EQ(knobs.value().heap_size, std::uint64_t{16} << 30);
    EXPECT_EQ(knobs.value().eager_limit, 16384U);
    EXPECT_EQ(knobs.value().cma, CmaChoice::automatic);
    EXPECT_EQ(knobs.value().spin_us, 200U);
    EXPECT_EQ(knobs.value().yields, 20U);
    EXPECT_EQ(knobs.value().handle_quarantine, 256U);
    EXPECT_EQ(knobs.value().unexpected_limit, 48U << 20);
    EXPECT_EQ(knobs.value().trace, "");
    EXPECT_EQ(knobs.value().stats, 0U);
}

TEST(Knobs, VariablesOverrideDefaults)
{
    const base::Result<Knobs> knobs = load({{"HEADWAY_NODE_HEAP", "shm"},
                                            {"HEADWAY_HEAP_SIZE", "2g"},
                                            {"HEADWAY_EAGER_LIMIT", "12345"},
                                            {"HEADWAY_CMA", "off"},
                                            {"HEADWAY_SPIN_US", "0"},
                                            {"HEADWAY_YIELDS", "7"},
                                            {"HEADWAY_HANDLE_QUARANTINE", "65536"},
                                            {"HEADWAY_TRACE", "some folder/t.json"},
                                            {"HEADWAY_TRACE_RING", "64k"},
                                            {"HEADWAY_STATS", "1"},
                                            {"HEADWAY_PROGRESS", "none"}});
    ASSERT_TRUE(knobs.has_value()) << knobs.sentence();
    EXPECT_EQ(knobs.value().node_heap, NodeHeapChoice::shm);
    EXPECT_EQ(knobs.value().heap_size, std::uint64_t{2} << 30);
    EXPECT_EQ(knobs.value().eager_limit, 12345U);
    EXPECT_EQ(knobs.value().cma, CmaChoice::off);
    EXPECT_EQ(knobs.value().spin_us, 0U);
    EXPECT_EQ(knobs.value().yields, 7U);
    EXPECT_EQ(knobs.value().handle_quarantine, 65536U);
    EXPECT_EQ(knobs.value().trace, "some folder/t.json");
    EXPECT_EQ(knobs.value().trace_ring, 65536U);
    EXPECT_EQ(knobs.value().stats, 1U);
}

TEST(Knobs, WrongValuesAreRefusedWithTheCure)
{
    EXPECT_EQ(sentence_of("HEADWAY_CMA", "maybe"),
              "HEADWAY_CMA is 'maybe'; set it to one of auto, off, or unset it");
    EXPECT_EQ(sentence_of("HEADWAY_HEAP_SIZE", "1K"),
              "HEADWAY_HEAP_SIZE is '1K'; set it to a number of bytes (suffixes K, M, G, T) from "
              "64M to 1T, or unset it");
    EXPECT_EQ(sentence_of("HEADWAY_YIELDS", "-1"),
              "HEADWAY_YIELDS is '-1'; set it to a whole number from 0 to 1000000, or unset it");
    for (const char* value : {"8Q", "8KB", "K", "0x10", "8 K", "1e3", "99999999999999999999",
                              "18446744073709551615K", " 8", "nan"}) {
        EXPECT_NE(sentence_of("HEADWAY_EAGER_LIMIT", value), "accepted") << value;
    }
    EXPECT_NE(sentence_of("HEADWAY_SPIN_US", "5K"), "accepted");
    EXPECT_NE(sentence_of("HEADWAY_CMA", "auto|off"), "accepted");
}

TEST(Knobs, AListFollowsTheChoiceThatHasOne)
{
    const auto knobs = load_knobs(platform::Environment({{"HEADWAY_PROGRESS", "dedicated:0,8-9"},
                                                         {"HEADWAY_WAIT", "passive"},
                                                         {"HEADWAY_CMA", "off"}}));
    ASSERT_TRUE(knobs);
    EXPECT_EQ(knobs.value().progress, ProgressChoice::dedicated);
    EXPECT_EQ(knobs.value().progress_list, "0,8-9");
    EXPECT_EQ(sentence_of("HEADWAY_PROGRESS", "dedicated"), "accepted");
    EXPECT_EQ(sentence_of("HEADWAY_PROGRESS", "agent:0"),
              "HEADWAY_PROGRESS is 'agent:0'; set it to one of none, agent, thread, idle, timer, "
              "dedicated, or unset it");
    EXPECT_NE(sentence_of("HEADWAY_PROGRESS", "dedicatedly"), "accepted");
}

TEST(Knobs, UnknownNamesNameTheNearest)
{
    const auto warnings = unknown_knob_warnings(platform::Environment(
        {{"HEADWAY_JOB", "x"}, {"HEADWAY_CMA", "off"}, {"HEADWAY_EGER_LIMIT", "1"}, {"PATH", ""}}));
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(warnings[0],
              "HEADWAY_EGER_LIMIT is no setting of Headway and has no effect; the "
              "nearest is HEADWAY_EAGER_LIMIT");
}

}  // namespace
}  // namespace headway::config
