// SPDX-License-Identifier: Apache-2.0
#include "engine/observation.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "unit/engine/in_process_node.hpp"

namespace headway::engine {
namespace {

class OutOfSequenceTest : public testing::Test {
  protected:
    void arrive(std::uint32_t number, std::uint32_t context = 4)
    {
        const transport::FrameHeader header{.context = context, .sequence = number};
        record_received(node.driver(1), 0, header, 8);
    }
    std::uint64_t overtaken() { return node.driver(1).rank().counters.messages_overtaken; }

    InProcessNode node{2};
    observe::Tracer tracer{1, 0};

    void SetUp() override
    {
        start_observing(node.driver(0), tracer);
        start_observing(node.driver(1), tracer);
    }
};

TEST_F(OutOfSequenceTest, ALaneKeepsTheOrder)
{
    std::uint32_t out[3] = {1, 2, 3};
    std::uint32_t in[3] = {};
    for (std::uint32_t& value : out) {
        (void)node.start_send(0, 1, 7, &value, sizeof value);
    }
    for (std::uint32_t& value : in) {
        (void)node.start_receive(1, 0, 7, &value, sizeof value);
    }
    node.settle();
    EXPECT_EQ(in[2], 3U);
    EXPECT_EQ(node.driver(1).slot(0).last_arrived, 3U);
    EXPECT_EQ(overtaken(), 0U);
}

TEST_F(OutOfSequenceTest, WhatWasOvertakenIsCounted)
{
    arrive(5);  // the first that is known may have any number
    arrive(6);
    EXPECT_EQ(overtaken(), 0U);
    arrive(9);
    EXPECT_EQ(overtaken(), 0U) << "what is missing may come still";
    arrive(7);
    EXPECT_EQ(overtaken(), 1U);
    arrive(8);
    EXPECT_EQ(overtaken(), 2U);
    arrive(10);
    EXPECT_EQ(overtaken(), 2U);
}

TEST_F(OutOfSequenceTest, NumbersGoRound)
{
    arrive(UINT32_MAX);
    arrive(1);
    EXPECT_EQ(overtaken(), 0U);
    arrive(UINT32_MAX);
    EXPECT_EQ(overtaken(), 1U);
}

TEST_F(OutOfSequenceTest, OthersHaveNoSuchNumbers)
{
    arrive(5);
    arrive(0);     // of a sender that is not observed
    arrive(3, 5);  // a step of a collective
    EXPECT_EQ(overtaken(), 0U);
}

}  // namespace
}  // namespace headway::engine
