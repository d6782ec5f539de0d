// SPDX-License-Identifier: Apache-2.0
//
// What type programs are made of: the same bytes, described in different ways, give the same small
// program.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "data/array_layout.hpp"
#include "data/layout.hpp"

namespace headway::data {
namespace {

constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / 2;

Layout::Pointer basic(std::uint16_t bytes)
{
    const BasicPart part{{bytes, bytes}, 0, bytes};
    return make_basic({&part, 1});
}

/// Blocks of one type: length, displacement.
Layout::Pointer indexed(const Layout& element,
                        const std::vector<std::pair<std::uint64_t, std::int64_t>>& blocks)
{
    std::vector<LayoutBlock> list;
    for (const auto& [length, displacement] : blocks) {
        list.push_back({&element, displacement, length});
    }
    return make_struct(list);
}

TEST(TypeProgram, NeighboursAreOneRun)
{
    const auto number = basic(4);
    for (const auto& layout : {make_vector(1, 6, 0, *number), make_vector(3, 2, 8, *number),
                               make_vector(2, 1, 12, *make_vector(3, 1, 4, *number)),
                               indexed(*number, {{2, 0}, {0, 400}, {1, 8}, {3, 12}})}) {
        EXPECT_TRUE(layout->program.view().is_run());
        EXPECT_EQ(layout->size_bytes(), 24U);
        EXPECT_TRUE(layout->is_dense());
    }
    // Elsewhere than at the element's address it is still a run, and dense.
    const auto shifted = indexed(*number, {{2, 40}});
    EXPECT_TRUE(shifted->is_dense());
    EXPECT_EQ(shifted->program.origin, 40);
    // With room behind it, an element is a run and several are not.
    const auto spread = make_resized(*number, 0, 16);
    EXPECT_TRUE(spread->program.view().is_run());
    EXPECT_FALSE(spread->is_dense());
}

TEST(TypeProgram, EqualDistancesAreALoop)
{
    const auto number = basic(8);
    const auto listed = indexed(*number, {{2, 0}, {2, 64}, {2, 128}, {2, 192}});
    const auto vector = make_vector(4, 2, 64, *number);
    for (const auto& layout : {listed, vector}) {
        const ProgramView program = layout->program.view();
        ASSERT_EQ(program.nodes.size(), 2U);
        EXPECT_EQ(program.root().kind, NodeKind::loop);
        EXPECT_EQ(program.root().count, 4U);
        EXPECT_EQ(program.root().stride, 64);
    }
}

TEST(TypeProgram, PlanesOfAListAreNestedLoops)
{
    const auto number = basic(4);
    std::vector<std::pair<std::uint64_t, std::int64_t>> blocks;
    for (std::int64_t plane = 0; plane < 50; ++plane) {
        for (std::int64_t row = 0; row < 20; ++row) {
            blocks.emplace_back(3, plane * 10000 + row * 100);
        }
    }
    const auto layout = indexed(*number, blocks);
    EXPECT_EQ(layout->program.nodes.size(), 3U);
    EXPECT_TRUE(layout->program.parts.empty());
}

TEST(TypeProgram, LoopsThatTouchAreOne)
{
    const auto row = make_vector(4, 1, 16, *basic(8));
    const auto rows = make_vector(3, 1, 64, *row);
    EXPECT_EQ(rows->program.nodes.size(), 2U);
    EXPECT_EQ(rows->program.view().root().count, 12U);
}

TEST(TypeProgram, ALargeTypeInManyPlacesIsStoredOnce)
{
    const auto number = basic(4);
    std::vector<std::pair<std::uint64_t, std::int64_t>> irregular;
    for (std::int64_t i = 0; i < 100; ++i) {
        irregular.emplace_back(1, i * i * 8);
    }
    const auto large = indexed(*number, irregular);
    EXPECT_EQ(large->program.blocks.size(), 100U);
    EXPECT_EQ(large->program.parts.size(), 0U);
    const auto many = indexed(*large, {{1, 0}, {1, 1 << 20}, {1, 1 << 22}});
    EXPECT_EQ(many->program.blocks.size(), 100U);
    EXPECT_EQ(many->program.parts.size(), 3U);
}

TEST(TypeProgram, AFewRepetitionsDoNotTakeAListApart)
{
    const auto number = basic(4);
    std::vector<std::pair<std::uint64_t, std::int64_t>> irregular;
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < 300; ++i) {
        irregular.emplace_back(1, next);
        next += i % 10 < 4 ? 16 : 8 + i * 4;  // three at equal distances now and then
    }
    EXPECT_EQ(indexed(*number, irregular)->program.view().root().kind, NodeKind::blocks);
}

TEST(Layout, WhatDoesNotFitIsRefused)
{
    const auto number = basic(4);
    EXPECT_EQ(make_vector(1ULL << 62, 1, 4, *number), nullptr);
    EXPECT_EQ(make_vector(1ULL << 40, 1ULL << 40, 4, *number), nullptr);
    EXPECT_EQ(make_vector(3, 1, far, *number), nullptr);
    EXPECT_EQ(indexed(*number, {{1, far * 2}, {1, -far}}), nullptr);
    EXPECT_EQ(make_resized(*number, far * 2, far), nullptr);
    const SubarrayDimension wide[] = {{far, 1, 0}, {far, 1, 0}};
    EXPECT_EQ(make_subarray(wide, *number), nullptr);
    EXPECT_NE(make_vector(3, 1, far / 4, *number), nullptr);
}

TEST(Layout, SlicesOfDifferentThreadsMakeTheWhole)
{
    const auto layout = make_vector(100, 3, 40, *basic(4));
    std::vector<unsigned char> memory(5000);
    for (std::size_t i = 0; i < memory.size(); ++i) {
        memory[i] = static_cast<unsigned char>(i * 31 + i / 256);
    }
    const TypedElements elements{layout->program.view(), layout->extent, memory.data()};
    const std::uint64_t total = layout->size_bytes();
    std::vector<std::byte> whole(total);
    std::vector<std::byte> sliced(total);
    pack(elements, 0, total, whole.data());
    constexpr std::uint64_t slice = 113;
    for (std::uint64_t from = 0; from < total; from += slice) {
        pack(elements, from, std::min(total, from + slice), sliced.data() + from);
    }
    EXPECT_EQ(whole, sliced);
    for (std::size_t i = 0; i < total; ++i) {
        ASSERT_EQ(whole[i], std::byte{memory[i / 12 * 40 + i % 12]});
    }
}

TEST(Signature, CountsWhatArrives)
{
    const auto narrow = basic(4);
    const auto wide = basic(8);
    const LayoutBlock blocks[] = {{narrow.get(), 0, 1}, {wide.get(), 8, 2}};
    const auto mixed = make_struct(blocks);
    const auto many = make_vector(1, 1'000'000, 0, *mixed);
    const Signature& signature = *many->signature;
    EXPECT_EQ(signature.elements(), 3'000'000U);
    EXPECT_EQ(signature.elements_in(20), 3U);
    EXPECT_EQ(signature.elements_in(24), 4U);
    EXPECT_EQ(signature.elements_in(28), std::nullopt);
    EXPECT_EQ(signature.elements_in(20'000'000), 3'000'000U);
    EXPECT_EQ(signature.bytes_of(4), 24U);
    EXPECT_EQ(signature.bytes_of(3'000'001), 20'000'004U);
}

}  // namespace
}  // namespace headway::data
