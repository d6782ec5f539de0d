// SPDX-License-Identifier: Apache-2.0
//
// Graphs whose members read each other's memory, with real bytes; what they compute stands in
// graph_engine_test.cpp beside the other algorithms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collective_runs.hpp"

namespace headway::engine {
namespace {

class PeerReading : public testing::TestWithParam<Route> {};

// Its buffer is the caller's again when its run is over.
TEST_P(PeerReading, WhoIsReadIsNotOverBeforeAllHaveRead)
{
    constexpr std::uint32_t ranks = 3;
    InProcessNode node(ranks, knobs_of(GetParam()), GetParam().distance);
    Collective bcast(node, Algorithm::bcast_direct);
    std::vector<std::vector<std::int64_t>> buffers(ranks, std::vector<std::int64_t>(20'000));
    std::ranges::fill(buffers[0], 7);
    bcast.start(0, vector_of(buffers[0], buffers[0]));
    bcast.start(1, vector_of(buffers[1], buffers[1]));
    node.settle();
    EXPECT_TRUE(bcast.is_complete(1));
    EXPECT_FALSE(bcast.is_complete(0));
    bcast.start(2, vector_of(buffers[2], buffers[2]));
    node.settle();
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(bcast.end(rank), OpError::none);
        EXPECT_EQ(buffers[rank], buffers[0]) << "rank " << rank;
    }
}

// As a message too long for its receive is; who wants more than there is must not read on behind
// it.
TEST_P(PeerReading, WhoReadsAVectorOfAnotherLengthIsToldSo)
{
    for (const std::size_t count : {50U, 200U}) {
        InProcessNode node(2, knobs_of(GetParam()), GetParam().distance);
        Collective bcast(node, Algorithm::bcast_direct);
        std::vector<std::int64_t> root(100, 7);
        std::vector<std::int64_t> other(count, 3);
        bcast.start(0, vector_of(root, root));
        bcast.start(1, vector_of(other, other));
        node.settle();
        EXPECT_EQ(bcast.end(0), OpError::none);
        EXPECT_EQ(bcast.end(1), OpError::truncated);
        EXPECT_EQ(other, std::vector<std::int64_t>(count, 3));
    }
}

INSTANTIATE_TEST_SUITE_P(Routes, PeerReading, testing::ValuesIn(routes), name_of_route);

}  // namespace
}  // namespace headway::engine
