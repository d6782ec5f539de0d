// SPDX-License-Identifier: Apache-2.0
//
// Patterns worked out by hand: who sends which blocks to whom.
#include <gtest/gtest.h>

#include <string>

#include "protocol/coll/algorithms.hpp"

namespace headway::protocol::coll {
namespace {

/// "4:{4}" for block 4 to rank 4, by rounds; receives with "<".
std::string messages_of(const Graph& graph, engine::NodeKind kind)
{
    std::string text;
    for (const engine::GraphNode& node : graph.nodes()) {
        if (node.kind != kind) {
            continue;
        }
        const engine::Extent extent = kind == engine::NodeKind::send ? node.source : node.target;
        text += std::to_string(node.slot) + ":" + std::to_string(node.peer) + "{" +
                std::to_string(extent.first_block) + "+" + std::to_string(extent.block_count) +
                "} ";
    }
    return text;
}

std::string sends(const Graph& graph)
{
    return messages_of(graph, engine::NodeKind::send);
}

std::string receives(const Graph& graph)
{
    return messages_of(graph, engine::NodeKind::receive);
}

TEST(AllgatherExchange, SwapsWithTheRanksThatDifferInOneDigit)
{
    const Graph two = allgather_exchange({.place = {5, 8, true}, .tuning = {.ports = 1}});
    EXPECT_EQ(sends(two), "0:4{5+1} 1:7{4+2} 2:1{4+4} ");
    EXPECT_EQ(receives(two), "0:4{4+1} 1:7{6+2} 2:1{0+4} ");
    const Graph three = allgather_exchange({.place = {4, 9, true}, .tuning = {.ports = 2}});
    EXPECT_EQ(sends(three), "0:5{4+1} 0:3{4+1} 1:7{3+3} 1:1{3+3} ");
    EXPECT_EQ(receives(three), "0:5{5+1} 0:3{3+1} 1:7{6+3} 1:1{0+3} ");
}

// Scratch counts from the own block on: blocks {3, 4} come from rank 3 as scratch 2 and 3.
TEST(AllgatherBruck, TakesWhatFollows)
{
    const Graph five = allgather_bruck({1, 5, false}, 1);
    EXPECT_EQ(sends(five), "0:0{0+1} 1:4{0+2} 2:2{0+1} ");
    EXPECT_EQ(receives(five), "0:2{1+1} 1:3{2+2} 2:0{4+1} ");
    const Graph seven = allgather_bruck({2, 7, false}, 2);
    EXPECT_EQ(sends(seven), "0:1{0+1} 0:0{0+1} 1:6{0+3} 1:3{0+1} ");
    EXPECT_EQ(receives(seven), "0:3{1+1} 0:4{2+1} 1:5{3+3} 1:1{6+1} ");
}

// Rank 1 of nine has the neighbours 0, 5, 6 and 7; slots are origins.
TEST(AllgatherCayley, ForwardsToAllOtherNeighbors)
{
    const Graph one = allgather_cayley({.place = {1, 9, true}, .tuning = {.radix = 4}});
    const std::string sent = sends(one);
    EXPECT_EQ(sent.substr(0, 40), "1:0{1+1} 1:5{1+1} 1:6{1+1} 1:7{1+1} 2:5{");
    EXPECT_NE(sent.find("5:0{5+1} 5:6{5+1} 5:7{5+1} 6:0"), std::string::npos) << sent;
    EXPECT_EQ(receives(one),
              "2:0{2+1} 3:0{3+1} 4:0{4+1} 5:5{5+1} 6:6{6+1} 7:7{7+1} 8:0{8+1} 0:0{0+1} ");
    const Graph leaf = allgather_cayley({.place = {3, 9, true}, .tuning = {.radix = 4}});
    EXPECT_EQ(sends(leaf), "3:0{3+1} ");
}

// To the base 2 the offsets 2 and 3 come over the digit 2, which is the last one.
TEST(AllgatherPipelinedBruck, ForwardsOverHigherDigitsOnly)
{
    const Graph two = allgather_pipelined_bruck({.place = {2, 4, true}, .tuning = {.ports = 1}});
    EXPECT_EQ(sends(two), "2:3{2+1} 2:0{2+1} 1:0{1+1} ");
    EXPECT_EQ(receives(two), "1:1{1+1} 0:0{0+1} 3:0{3+1} ");
}

}  // namespace
}  // namespace headway::protocol::coll
