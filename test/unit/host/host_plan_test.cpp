// SPDX-License-Identifier: Apache-2.0
#include "host_plan.hpp"

#include <gtest/gtest.h>

#include <random>

namespace headway::launch {
namespace {

std::span<const std::byte> bytes_of(const std::string& text)
{
    return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

HostPlan sample()
{
    HostPlan plan;
    plan.programs.push_back({2, "/tmp", {"./a", "", "with blank"}, {"A=1", "B="}, {"libx.so"}});
    plan.programs.push_back({1, "", {"b"}, {}, {}});
    plan.cpus = {{0, 1}, {}, {3}};
    plan.stack_kib = 256;
    plan.first_rank = 4;
    plan.job_rank_count = 9;
    plan.continues_program = true;
    plan.crew = {true, 3, 7, true, false, false, true};
    return plan;
}

TEST(HostPlan, ComesBackAsItWasWritten)
{
    const std::string text = to_bytes(sample());
    const auto read = read_plan(bytes_of(text));
    ASSERT_TRUE(read);
    const HostPlan& plan = read.value();
    EXPECT_EQ(plan.rank_count(), 3);
    ASSERT_EQ(plan.programs.size(), 2U);
    EXPECT_EQ(plan.programs[0].directory, "/tmp");
    EXPECT_EQ(plan.programs[0].arguments, sample().programs[0].arguments);
    EXPECT_EQ(plan.programs[0].environment, sample().programs[0].environment);
    EXPECT_EQ(plan.programs[0].shared_libraries, sample().programs[0].shared_libraries);
    EXPECT_EQ(plan.programs[1].arguments, sample().programs[1].arguments);
    EXPECT_EQ(plan.first_rank, 4);
    EXPECT_EQ(plan.job_rank_count, 9);
    EXPECT_TRUE(plan.continues_program);
    EXPECT_EQ(plan.cpus, sample().cpus);
    EXPECT_EQ(plan.stack_kib, 256);
    EXPECT_TRUE(plan.crew.is_wanted && plan.crew.binds_ranks && plan.crew.reports);
    EXPECT_FALSE(plan.crew.pins_workers || plan.crew.sleeps_suspend);
    EXPECT_EQ(plan.crew.workers, 3);
    EXPECT_EQ(plan.crew.seed, 7);
}

TEST(HostPlan, PartsHaveTheProgramsOfTheirRanks)
{
    const HostPlan first = part_of(sample(), 0, 1);
    ASSERT_EQ(first.programs.size(), 1U);
    EXPECT_EQ(first.rank_count(), 1);
    EXPECT_FALSE(first.continues_program);
    EXPECT_EQ(first.cpus, (std::vector<std::vector<int>>{{0, 1}}));

    const HostPlan second = part_of(sample(), 1, 2);
    ASSERT_EQ(second.programs.size(), 2U);
    EXPECT_EQ(second.programs[0].rank_count, 1);
    EXPECT_EQ(second.programs[1].arguments, sample().programs[1].arguments);
    EXPECT_EQ(second.first_rank, 1);
    EXPECT_TRUE(second.continues_program);
    EXPECT_EQ(second.cpus, (std::vector<std::vector<int>>{{}, {3}}));

    const HostPlan third = part_of(sample(), 2, 1);
    ASSERT_EQ(third.programs.size(), 1U);
    EXPECT_EQ(third.programs[0].arguments, sample().programs[1].arguments);
    EXPECT_FALSE(third.continues_program);
}

TEST(HostPlan, WhatIsNoPlanIsRefused)
{
    const std::string text = to_bytes(sample());
    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_FALSE(read_plan(bytes_of(text.substr(0, size)))) << size;
    }
    EXPECT_FALSE(read_plan(bytes_of(text + "x")));
    HostPlan too_far = sample();
    too_far.first_rank = 7;
    EXPECT_FALSE(read_plan(bytes_of(to_bytes(too_far))));
    HostPlan too_few = sample();
    too_few.cpus.pop_back();
    EXPECT_FALSE(read_plan(bytes_of(to_bytes(too_few))));
    std::mt19937 random(2);
    for (int round = 0; round < 5000; ++round) {
        std::string damaged = text;
        damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
        (void)read_plan(bytes_of(damaged));
    }
}

}  // namespace
}  // namespace headway::launch
