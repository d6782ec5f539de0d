// SPDX-License-Identifier: Apache-2.0
#include "boot/placement.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "boot/single.hpp"

namespace headway::boot {
namespace {

TEST(Placement, CountsNodeByNode)
{
    const std::vector<int> nodes{4, 2, 4, 9, 2, 4};
    const std::vector<int> places{0, 3, 1, 5, 4, 2};
    for (int process = 0; process < 6; ++process) {
        const Placement found = place_process(nodes, process);
        EXPECT_EQ(found.place, places[static_cast<std::size_t>(process)]) << process;
        EXPECT_EQ(found.node_count, 3);
        EXPECT_EQ(found.node_firsts, (std::vector<int>{0, 3, 5}));
        EXPECT_EQ(found.node_of(found.place), found.node);
    }
    const Placement second = place_process(nodes, 4);
    EXPECT_EQ(second.node, 1);
    EXPECT_EQ(second.node_first, 3);
    EXPECT_EQ(second.node_size, 2);
    EXPECT_FALSE(second.is_node_leader());
    EXPECT_TRUE(place_process(nodes, 1).is_node_leader());
}

TEST(Placement, GivesEveryPlaceOnceAndNodesAreRanges)
{
    const std::vector<int> nodes{0, 1, 2, 0, 1, 2, 0, 1, 2, 2};
    std::set<int> places;
    for (int process = 0; process < 10; ++process) {
        const Placement found = place_process(nodes, process);
        places.insert(found.place);
        EXPECT_GE(found.place, found.node_first);
        EXPECT_LT(found.place, found.node_first + found.node_size);
    }
    EXPECT_EQ(places.size(), 10U);
    EXPECT_EQ(place_process(nodes, 0).place, 0);
}

TEST(Placement, AllProcessesKnowTheSameNodes)
{
    std::mt19937 random(7);
    for (int turn = 0; turn < 200; ++turn) {
        std::vector<int> nodes(1 + random() % 40);
        for (int& node : nodes) {
            node = static_cast<int>(random() % 9);
        }
        std::vector<int> known(nodes.size());
        for (int process = 0; process < static_cast<int>(nodes.size()); ++process) {
            const Placement found = place_process(nodes, process);
            known[static_cast<std::size_t>(found.place)] = found.node;
        }
        for (int process = 0; process < static_cast<int>(nodes.size()); ++process) {
            const Placement found = place_process(nodes, process);
            for (std::size_t place = 0; place < known.size(); ++place) {
                ASSERT_EQ(found.node_of(static_cast<int>(place)), known[place]) << place;
            }
        }
    }
}

TEST(Placement, OfASingleton)
{
    const auto boot = open_single();
    const auto found = find_placement(*boot);
    ASSERT_TRUE(found);
    EXPECT_EQ(found.value().node_count, 1);
    EXPECT_EQ(found.value().place, 0);
    EXPECT_EQ(found.value().node_of(0), 0);
    EXPECT_TRUE(found.value().is_node_leader());
}

/// A launcher without a map, asked by the last of its processes.
class Mapless final : public Boot {
  public:
    explicit Mapless(std::vector<std::string> where) : where_(std::move(where))
    {
        process_count_ = static_cast<int>(where_.size()) + 1;
        process_index_ = process_count_ - 1;
    }
    std::string_view launcher() const noexcept override { return "mapless"; }
    base::Result<std::vector<int>> node_map() override { return std::vector<int>{}; }
    base::Outcome put(std::string_view /*key*/, std::string_view value) override
    {
        where_.emplace_back(value);
        return base::Done{};
    }
    base::Outcome fence() override { return base::Done{}; }
    base::Result<std::string> get(std::string_view key) override
    {
        const std::size_t number = std::stoul(std::string(key.substr(key.rfind('-') + 1)));
        return where_.at(number);
    }
    base::Outcome finalize() override { return base::Done{}; }
    void abort(int /*code*/, std::string_view /*sentence*/) override {}

    std::vector<std::string> where_;
};

TEST(Placement, WithoutAMapProcessesTellEachOther)
{
    Mapless boot({"elsewhere", "nowhere", "elsewhere"});
    const auto found = find_placement(boot);
    ASSERT_TRUE(found);
    EXPECT_EQ(found.value().node_count, 3);
    EXPECT_EQ(found.value().node, 2);
    EXPECT_EQ(found.value().place, 3);
    EXPECT_EQ(boot.where_.back().find(' '), std::string::npos);
    EXPECT_FALSE(boot.where_.back().empty());

    Mapless together({boot.where_.back(), "elsewhere"});
    const auto first = find_placement(together);
    ASSERT_TRUE(first);
    EXPECT_EQ(first.value().node_count, 2);
    EXPECT_EQ(first.value().node, 0);
    EXPECT_EQ(first.value().place, 1);
}

}  // namespace
}  // namespace headway::boot
