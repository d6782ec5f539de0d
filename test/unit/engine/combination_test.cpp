// SPDX-License-Identifier: Apache-2.0
#include "engine/combination.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "engine/graph_instance.hpp"
#include "engine/op.hpp"
#include "in_process_node.hpp"

namespace headway::engine {
namespace {

constexpr Extent input{.space = Space::send};
constexpr Extent result{.space = Space::receive};
constexpr Extent landing{.space = Space::scratch};

/// One run of a graph on `count` doubles, as it is when the receive, its first node, has matched.
class CombinationTest : public testing::Test {
  protected:
    CombinationTest() : node_(1) {}
    ~CombinationTest() override { destroy_template(node_.driver(0).allocator(), stored_); }

    /// A receive that a reduction follows.
    static Graph received_and_reduced(Extent arrival, Extent source, Extent target)
    {
        Graph graph;
        const auto received = graph.receive(1, 0, arrival);
        graph.order(received, graph.reduce(source, target));
        return graph;
    }

    void prepare(Graph graph, std::uint64_t element_bytes = sizeof(double))
    {
        graph.scratch_blocks = 1;
        stored_ = store_graph(node_.driver(0).allocator(), graph);
        run_.stored = stored_;
        counters_.assign(std::size_t{2} * stored_->node_count, 0);
        run_.counters = counters_.data();
        for (std::uint32_t node = 0; node < stored_->node_count; ++node) {
            run_.waiting()[node] = stored_->dependencies[node];
        }
        std::byte* const spaces[] = {bytes_of(send_), bytes_of(receive_), bytes_of(scratch_)};
        for (std::size_t space = 0; space < 3; ++space) {
            run_.spaces[space] = spaces[space];
            run_.layouts[space] = {.element_bytes = element_bytes, .count = count};
        }
        run_.reduction = {data::ReduceOperator::sum, data::ElementKind::float64, 0};
        receive_op_.graph = &run_;
        receive_op_.node = 0;
        receive_op_.size_bytes = count * element_bytes;
        address_ = run_.address(stored_->nodes[0].target);
    }

    Combination take() { return take_combination(receive_op_, &address_); }

    static std::byte* bytes_of(std::vector<double>& numbers)
    {
        return reinterpret_cast<std::byte*>(numbers.data());
    }

    static constexpr std::uint64_t count = 1000;
    InProcessNode node_;
    GraphTemplate* stored_ = nullptr;
    std::vector<std::uint32_t> counters_;
    GraphInstance run_;
    Op receive_op_;
    std::byte* address_ = nullptr;
    // Room for elements of up to 16 bytes.
    std::vector<double> send_ = std::vector<double>(2 * count, 1.0);
    std::vector<double> receive_ = std::vector<double>(2 * count, 2.0);
    std::vector<double> scratch_ = std::vector<double>(2 * count, 3.0);
};

TEST_F(CombinationTest, WhatArrivesInTheResultMeetsTheInput)
{
    prepare(received_and_reduced(result, input, result));
    const Combination combination = take();
    ASSERT_TRUE(combination.is_there());
    EXPECT_EQ(combination.operand, bytes_of(send_));
    EXPECT_EQ(address_, bytes_of(receive_));
    EXPECT_EQ(run_.waiting()[1], GraphInstance::combined_on_arrival);
}

TEST_F(CombinationTest, WhatWouldLandInScratchMeetsTheResultInItsPlace)
{
    prepare(received_and_reduced(landing, landing, result));
    const Combination combination = take();
    ASSERT_TRUE(combination.is_there());
    EXPECT_EQ(combination.operand, nullptr);
    EXPECT_EQ(address_, bytes_of(receive_));
}

TEST_F(CombinationTest, AReductionThatWaitsForMoreStaysANode)
{
    Graph graph;
    const auto received = graph.receive(1, 0, landing);
    const auto other = graph.receive(2, 0, result);
    const auto reduced = graph.reduce(landing, result);
    graph.order(received, reduced);
    graph.order(other, reduced);
    prepare(std::move(graph));
    EXPECT_FALSE(take().is_there());
    EXPECT_EQ(run_.waiting()[2], 2U);
    run_.waiting()[2] = 1;  // the other one is there
    EXPECT_TRUE(take().is_there());
}

TEST_F(CombinationTest, OthersThatReadWhatArrivesKeepIt)
{
    Graph graph = received_and_reduced(landing, landing, result);
    graph.order(0, graph.send(2, 0, landing));
    prepare(std::move(graph));
    EXPECT_FALSE(take().is_there());
}

TEST_F(CombinationTest, WhatIsReadLaterOnIsStored)
{
    Graph graph = received_and_reduced(landing, landing, result);
    graph.order(1, graph.copy(landing, result));
    prepare(std::move(graph));
    EXPECT_FALSE(take().is_there());
}

TEST_F(CombinationTest, TheCallersMemoryGetsWhatArrivesThere)
{
    prepare(received_and_reduced(result, result, landing));
    EXPECT_FALSE(take().is_there());
}

TEST_F(CombinationTest, UserCodeAndOddElementsStayNodes)
{
    prepare(received_and_reduced(result, input, result), 12);
    EXPECT_FALSE(take().is_there()) << "an element would be cut by the end of a piece";
    for (BlockLayout& layout : run_.layouts) {
        layout.element_bytes = sizeof(double);
    }
    EXPECT_FALSE(take().is_there()) << "the message has another length";
    receive_op_.size_bytes = count * sizeof(double);
    run_.reduction.user_op = 1;
    EXPECT_FALSE(take().is_there());
    run_.reduction.user_op = 0;
    EXPECT_TRUE(take().is_there());
}

TEST_F(CombinationTest, ReceivesOfNoGraphAreStored)
{
    Op receive;
    receive.graph = nullptr;
    std::byte* address = nullptr;
    EXPECT_FALSE(take_combination(receive, &address).is_there());
}

/// In pieces of any size, in any order: as all at once.
TEST(Combine, PiecesMakeTheWhole)
{
    std::mt19937_64 random(7);
    for (const bool has_operand : {true, false}) {
        for (int round = 0; round < 20; ++round) {
            const std::uint64_t elements = 1 + random() % 5000;
            std::vector<std::int32_t> incoming(elements);
            std::vector<std::int32_t> own(elements);
            for (std::uint64_t i = 0; i < elements; ++i) {
                incoming[i] = static_cast<std::int32_t>(random());
                own[i] = static_cast<std::int32_t>(random());
            }
            const std::vector<std::int32_t> operand = own;
            std::vector<std::int32_t> target =
                has_operand ? std::vector<std::int32_t>(elements) : own;
            const Combination combination{
                .operand =
                    has_operand ? reinterpret_cast<const std::byte*>(operand.data()) : nullptr,
                .op = data::ReduceOperator::max,
                .kind = data::ElementKind::int32,
                .element_bytes = sizeof(std::int32_t)};
            const std::uint64_t bytes = elements * sizeof(std::int32_t);
            for (std::uint64_t from = 0; from < bytes;) {
                const std::uint64_t piece = std::min(bytes - from, aligned_piece(random() % 20000));
                combine(combination, from, piece,
                        reinterpret_cast<const std::byte*>(incoming.data()) + from,
                        reinterpret_cast<std::byte*>(target.data()) + from);
                from += piece;
            }
            for (std::uint64_t i = 0; i < elements; ++i) {
                ASSERT_EQ(target[i], std::max(own[i], incoming[i])) << "element " << i;
            }
        }
    }
}

}  // namespace
}  // namespace headway::engine
