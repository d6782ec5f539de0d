// SPDX-License-Identifier: Apache-2.0
#include "object/recent_graphs.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace headway::object {
namespace {

using protocol::coll::Collective;

/// Shapes that differ in one word each.
std::vector<CollectiveShape> shapes()
{
    const CollectiveShape first{.collective = Collective::bcast, .root = 1, .bytes = 8};
    std::vector<CollectiveShape> all(6, first);
    all[1].collective = Collective::reduce;
    all[2].in_place = true;
    all[3].is_commutative = false;
    all[4].root = 2;
    all[5].bytes = 16;
    return all;
}

TEST(RecentGraphs, AGraphIsFoundByItsShapeAndNoOther)
{
    const std::vector<CollectiveShape> all = shapes();
    for (const CollectiveShape& known : all) {
        RecentGraphs graphs;
        engine::GraphTemplate graph;
        graphs.remember(known, {.stored = &graph, .may_meet = true});
        for (const CollectiveShape& asked : all) {
            EXPECT_EQ(graphs.find(asked).stored, asked == known ? &graph : nullptr);
            EXPECT_EQ(graphs.find(asked).may_meet, asked == known);
        }
    }
}

TEST(RecentGraphs, OfTwoInOnePlaceTheLastIsFound)
{
    RecentGraphs graphs;
    std::vector<engine::GraphTemplate> stored(1000);
    for (std::size_t bytes = 0; bytes < stored.size(); ++bytes) {
        graphs.remember({.collective = Collective::bcast, .bytes = bytes}, {&stored[bytes]});
        EXPECT_EQ(graphs.find({.collective = Collective::bcast, .bytes = bytes}).stored,
                  &stored[bytes]);
    }
    int found = 0;
    for (std::size_t bytes = 0; bytes < stored.size(); ++bytes) {
        const auto* const graph =
            graphs.find({.collective = Collective::bcast, .bytes = bytes}).stored;
        EXPECT_TRUE(graph == nullptr || graph == &stored[bytes]);
        found += graph != nullptr ? 1 : 0;
    }
    EXPECT_GT(found, 1);
}

}  // namespace
}  // namespace headway::object
