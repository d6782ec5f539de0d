// SPDX-License-Identifier: Apache-2.0
//
// Notes of other nodes arrive in parts, which may be anything.
#include "object/distant_note.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "unit/memory/heap_fixture.hpp"

namespace headway::object {
namespace {

using Part = NoteParts::Part;

/// The parts of a note that consists of these bytes.
std::vector<Part> parts_of(const DistantNote& note)
{
    const auto* const bytes = reinterpret_cast<const std::byte*>(&note);
    std::vector<Part> parts;
    for (std::size_t begin = 0; begin < sizeof note; begin += NoteParts::part_bytes) {
        Part& part = parts.emplace_back();
        part.index = static_cast<std::uint32_t>(parts.size() - 1);
        std::memcpy(part.bytes.data(), bytes + begin,
                    std::min(NoteParts::part_bytes, sizeof note - begin));
    }
    return parts;
}

class DistantNoteTest : public ::testing::Test {
  protected:
    bool add(std::uint32_t sender, const Part& part)
    {
        return parts.add(allocator, 0, sender, part, &arrived, &is_refused);
    }

    std::unique_ptr<memory::NodeHeap> heap = memory::make_heap(1);
    memory::Allocator allocator = heap->for_rank(0);
    NoteParts parts;
    DistantNote arrived;
    bool is_refused = false;
};

TEST_F(DistantNoteTest, PartsOfSeveralSendersMakeTheNoteOfEach)
{
    DistantNote notes[2];
    notes[0].name.number = 11;
    notes[1].name.number = 12;
    std::strncpy(notes[1].communicator, "world", sizeof notes[1].communicator - 1);
    const std::vector<Part> sent[2] = {parts_of(notes[0]), parts_of(notes[1])};
    for (std::size_t i = 0; i < sent[0].size(); ++i) {
        for (std::uint32_t sender = 0; sender < 2; ++sender) {
            EXPECT_EQ(add(sender, sent[sender][i]), i + 1 == sent[sender].size());
            EXPECT_FALSE(is_refused);
        }
    }
    EXPECT_EQ(arrived.name.number, 12U);
    EXPECT_STREQ(arrived.communicator, "world");
}

TEST_F(DistantNoteTest, TextsThatDoNotEndAreEnded)
{
    DistantNote note;
    std::ranges::fill(note.communicator, 'x');
    std::ranges::fill(note.elements.text, 'x');
    std::ranges::fill(note.signature.name, 'x');
    std::ranges::fill(note.signature.elements.text, 'x');
    for (const Part& part : parts_of(note)) {
        (void)add(0, part);
    }
    EXPECT_EQ(arrived.communicator[sizeof arrived.communicator - 1], '\0');
    EXPECT_EQ(arrived.elements.text[sizeof arrived.elements.text - 1], '\0');
    EXPECT_EQ(arrived.signature.name[sizeof arrived.signature.name - 1], '\0');
    EXPECT_EQ(arrived.signature.elements.text[sizeof arrived.signature.elements.text - 1], '\0');
}

TEST_F(DistantNoteTest, PartsOutOfOrderAreRefused)
{
    const std::vector<Part> sent = parts_of(DistantNote());
    EXPECT_FALSE(add(0, sent[1]));
    EXPECT_TRUE(is_refused);
    Part beyond = sent[0];
    beyond.index = UINT32_MAX;
    EXPECT_FALSE(add(1, beyond));
    EXPECT_TRUE(is_refused);
}

}  // namespace
}  // namespace headway::object
