// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>

#include "engine/graph.hpp"

namespace headway::engine {
namespace {

TEST(BlockLayout, UniformBlocksFollowEachOther)
{
    const BlockLayout layout{Blocks::uniform, 1, 8, 5};
    for (std::uint32_t block = 0; block < 10; ++block) {
        EXPECT_EQ(layout.element_offset(block), 5U * block);
        EXPECT_EQ(layout.offset_bytes(block), 40U * block);
        EXPECT_EQ(layout.elements({Space::receive, block, 3}), 15U);
        EXPECT_EQ(layout.size_bytes({Space::receive, block, 3}), 120U);
    }
    EXPECT_EQ(layout.size_bytes({Space::send, 4, 0}), 0U);
}

TEST(BlockLayout, PiecesCoverTheVectorAndDifferByOneAtMost)
{
    for (std::uint32_t pieces = 1; pieces <= 33; ++pieces) {
        for (std::uint64_t count = 0; count <= 100; ++count) {
            const BlockLayout layout{Blocks::split, pieces, 4, count};
            ASSERT_EQ(layout.element_offset(0), 0U);
            ASSERT_EQ(layout.element_offset(pieces), count);
            for (std::uint32_t piece = 0; piece < pieces; ++piece) {
                const std::uint64_t elements = layout.elements({Space::receive, piece, 1});
                ASSERT_GE(elements, count / pieces);
                ASSERT_LE(elements, (count + pieces - 1) / pieces);
                ASSERT_EQ(layout.size_bytes({Space::receive, piece, 1}), 4 * elements);
            }
        }
    }
}

TEST(BlockLayout, ScratchHoldsSplitVectorsOneAfterTheOther)
{
    const BlockLayout layout{Blocks::split, 4, 1, 10};
    for (std::uint32_t block = 0; block < 16; ++block) {
        EXPECT_EQ(layout.element_offset(block), block / 4 * 10 + 10 * (block % 4) / 4);
    }
    EXPECT_EQ(layout.elements({Space::scratch, 4, 4}), 10U);
}

TEST(BlockLayout, CountsOfManyGigabytesDoNotOverflow)
{
    const std::uint64_t count = std::uint64_t{1} << 40;
    const BlockLayout split{Blocks::split, 1024, 16, count};
    EXPECT_EQ(split.offset_bytes(1023), (count - count / 1024) * 16);
    const BlockLayout uniform{Blocks::uniform, 1, 16, count};
    EXPECT_EQ(uniform.offset_bytes(4095), count * 4095 * 16);
}

TEST(BlockLayout, ListedBlocksLieWhereTheTableSays)
{
    const BlockRange table[] = {{7, 3}, {-5, 2}, {100, 0}};
    const BlockLayout layout{Blocks::listed, 3, 4, 100, table};
    EXPECT_EQ(layout.offset_bytes(0), 28U);
    EXPECT_EQ(static_cast<std::int64_t>(layout.offset_bytes(1)), -20);
    EXPECT_EQ(layout.size_bytes({Space::receive, 0, 1}), 12U);
    EXPECT_EQ(layout.size_bytes({Space::receive, 1, 1}), 8U);
    EXPECT_EQ(layout.size_bytes({Space::receive, 2, 1}), 0U);
    EXPECT_EQ(layout.size_bytes({Space::receive, 2, 0}), 0U);
}

TEST(BlockLayout, ListedBlocksThatFollowEachOtherMakeOneExtent)
{
    const BlockRange table[] = {{0, 3}, {3, 0}, {3, 5}};
    const BlockLayout layout{Blocks::listed, 3, 2, 8, table};
    EXPECT_EQ(layout.elements({Space::scratch, 0, 3}), 8U);
    EXPECT_EQ(layout.elements({Space::scratch, 0, 6}), 16U);
    EXPECT_EQ(layout.element_offset(5), 11U);
    EXPECT_EQ(layout.elements({Space::scratch, 4, 2}), 5U);
}

}  // namespace
}  // namespace headway::engine
