// SPDX-License-Identifier: Apache-2.0
//
// Loops of runs of every size at every distance, and long lists of blocks: any range of the stream
// is what a byte-by-byte model says, and no byte beside it is touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "data/layout.hpp"

namespace headway::data {
namespace {

/// Where each byte of the packed stream lies, counted from the first element's address.
using Places = std::vector<std::int64_t>;

Layout::Pointer bytes_in_a_row(std::uint64_t bytes)
{
    const BasicPart part{{1, 1}, 0, 1};
    return make_vector(1, bytes, 0, *make_basic({&part, 1}));
}

void append_run(Places* places, std::int64_t offset, std::uint64_t bytes)
{
    for (std::uint64_t i = 0; i < bytes; ++i) {
        places->push_back(offset + static_cast<std::int64_t>(i));
    }
}

std::vector<std::byte> noise(std::size_t bytes, std::size_t seed)
{
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        made[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
    }
    return made;
}

/// Packs and unpacks bytes [from, to) of the stream of elements that span exactly what `places` do.
void check_range(const TypedElements& shape, const Places& places, std::size_t from, std::size_t to)
{
    const auto [least, greatest] = std::minmax_element(places.begin(), places.end());
    const std::int64_t begin = *least;
    const auto at = [begin](std::int64_t place) { return static_cast<std::size_t>(place - begin); };
    std::vector<std::byte> memory = noise(at(*greatest) + 1, 1);
    TypedElements elements = shape;
    elements.address = memory.data() - begin;

    std::vector<std::byte> wanted = noise(to - from + 1, 5);
    std::vector<std::byte> packed = wanted;
    for (std::size_t i = from; i < to; ++i) {
        wanted[i - from] = memory[at(places[i])];
    }
    pack(elements, from, to, packed.data());
    ASSERT_EQ(packed, wanted);

    std::vector<std::byte> changed = memory;
    const std::vector<std::byte> given = noise(to - from, 9);
    for (std::size_t i = from; i < to; ++i) {
        changed[at(places[i])] = given[i - from];
    }
    unpack(elements, from, to, given.data());
    ASSERT_EQ(memory, changed);
}

void check_ranges(const TypedElements& shape, const Places& places, std::mt19937* dice)
{
    check_range(shape, places, 0, places.size());
    for (int i = 0; i < 3; ++i) {
        const std::size_t from = (*dice)() % (places.size() + 1);
        check_range(shape, places, from, from + (*dice)() % (places.size() - from + 1));
        if (testing::Test::HasFatalFailure()) {
            return;
        }
    }
}

TEST(Packing, RunsOfAnySizeAtAnyDistance)
{
    std::mt19937 dice(1);
    for (const unsigned bytes :
         {1U,  2U,  3U,  4U,  5U,  7U,  8U,  11U, 12U,  15U,  16U,  17U,  24U,   31U,  32U,
          33U, 40U, 48U, 63U, 64U, 65U, 95U, 96U, 127U, 128U, 130U, 200U, 2048U, 2100U}) {
        const auto run = bytes_in_a_row(bytes);
        const auto tight = static_cast<std::int64_t>(bytes);
        for (const std::int64_t distance : {tight + 1, 2 * tight, 127L, 128L, 136L, 511L, 512L,
                                            1024L, 2047L, 2048L, 4096L, 4104L}) {
            for (const std::int64_t stride : {distance, -distance}) {
                const std::uint64_t count = 1 + dice() % 40;
                SCOPED_TRACE(testing::Message() << count << " x " << bytes << " B each " << stride);
                if (distance <= tight) {
                    continue;  // they would overlap, or be one run
                }
                Places places;
                for (std::uint64_t i = 0; i < count; ++i) {
                    append_run(&places, static_cast<std::int64_t>(i) * stride, bytes);
                }
                // As one element that is a loop, and as elements that are runs.
                const auto loop = make_vector(count, 1, stride, *run);
                check_ranges({loop->program.view(), loop->extent, nullptr}, places, &dice);
                check_ranges({run->program.view(), stride, nullptr}, places, &dice);
                if (HasFatalFailure()) {
                    return;
                }
            }
        }
    }
}

struct BlocksMade {
    Layout::Pointer layout;
    Places places;
};

/// A list of runs, in any order, without a rule that would make it a loop.
BlocksMade make_list(std::mt19937* dice, std::size_t blocks)
{
    std::vector<LayoutBlock> list;
    std::vector<std::int64_t> displacements;
    const auto byte = bytes_in_a_row(1);
    std::int64_t next = 0;
    for (std::size_t i = 0; i < blocks; ++i) {
        const std::uint64_t length = 1 + (*dice)() % ((*dice)() % 8 == 0 ? 90 : 40);
        list.push_back({byte.get(), next, length});
        next += static_cast<std::int64_t>(length + 1 + (*dice)() % 30);
    }
    if ((*dice)() % 2 == 0) {
        std::shuffle(list.begin(), list.end(), *dice);
    }
    BlocksMade made{make_struct(list), {}};
    for (const LayoutBlock& block : list) {
        append_run(&made.places, block.displacement, block.length);
    }
    return made;
}

TEST(Packing, ListsOfBlocks)
{
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 dice(seed);
        const BlocksMade first = make_list(&dice, 17 + dice() % 300);
        ASSERT_EQ(first.layout->program.view().root().kind, NodeKind::blocks);
        check_ranges({first.layout->program.view(), first.layout->extent, nullptr}, first.places,
                     &dice);

        // Two of them, one in two places, in a type of several elements.
        const BlocksMade second = make_list(&dice, 17 + dice() % 150);
        const std::int64_t behind = first.layout->extent + 8;
        const LayoutBlock parts[] = {{first.layout.get(), 0, 1},
                                     {second.layout.get(), behind, 1},
                                     {first.layout.get(), behind + second.layout->extent + 3, 2}};
        const auto all = make_struct(parts);
        EXPECT_LT(all->program.blocks.size(), first.layout->program.blocks.size() +
                                                  second.layout->program.blocks.size() +
                                                  2 * blocks_per_mark);
        Places places;
        for (int element = 0; element < 2; ++element) {
            for (const LayoutBlock& part : parts) {
                const bool is_first = part.layout == first.layout.get();
                for (std::uint64_t i = 0; i < part.length; ++i) {
                    const std::int64_t origin = element * all->extent + part.displacement +
                                                static_cast<std::int64_t>(i) * part.layout->extent;
                    for (const std::int64_t place : is_first ? first.places : second.places) {
                        places.push_back(origin + place);
                    }
                }
            }
        }
        check_ranges({all->program.view(), all->extent, nullptr}, places, &dice);
        if (HasFailure()) {
            return;
        }
    }
}

TEST(Packing, BlocksTooFarApartStayASequence)
{
    std::mt19937 dice(3);
    BlocksMade near = make_list(&dice, 30);
    const auto byte = bytes_in_a_row(1);
    const LayoutBlock parts[] = {{near.layout.get(), 0, 1}, {byte.get(), std::int64_t{1} << 33, 1}};
    const auto far = make_struct(parts);
    const ProgramView program = far->program.view();
    EXPECT_EQ(program.root().kind, NodeKind::sequence);
    EXPECT_EQ(program.first_run_bytes(), near.layout->program.blocks.front().bytes);
    // Only the near part's memory exists.
    const std::size_t bytes = near.places.size();
    check_range({program, far->extent, nullptr}, near.places, bytes / 3, bytes);
}

}  // namespace
}  // namespace headway::data
