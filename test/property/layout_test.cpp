// SPDX-License-Identifier: Apache-2.0
//
// Random datatypes against a model that writes every basic element down: bounds, size, signature,
// and packing of any range of the stream, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "data/layout.hpp"
#include "data/signature_digest.hpp"

namespace headway::data {
namespace {

struct Entry {
    std::int64_t offset;
    BasicType type;
};

/// A datatype as the standard defines it: a type map, and markers.
struct Model {
    std::vector<Entry> map;
    std::vector<std::int64_t> lower_marks;
    std::vector<std::int64_t> upper_marks;
    /// Upper bounds of the parts, where those have no markers.
    std::vector<std::int64_t> padded_ends;
    std::int64_t alignment = 1;

    std::int64_t true_begin() const
    {
        std::int64_t begin = map.empty() ? 0 : std::numeric_limits<std::int64_t>::max();
        for (const Entry& entry : map) {
            begin = std::min(begin, entry.offset);
        }
        return begin;
    }

    std::int64_t true_end() const
    {
        std::int64_t end = map.empty() ? 0 : std::numeric_limits<std::int64_t>::min();
        for (const Entry& entry : map) {
            end = std::max(end, entry.offset + entry.type.size_bytes);
        }
        return end;
    }

    std::int64_t lower() const
    {
        return lower_marks.empty() ? true_begin()
                                   : *std::min_element(lower_marks.begin(), lower_marks.end());
    }

    std::int64_t upper() const
    {
        if (!upper_marks.empty()) {
            return *std::max_element(upper_marks.begin(), upper_marks.end());
        }
        std::int64_t end = true_end();
        for (const std::int64_t padded : padded_ends) {
            end = std::max(end, padded);
        }
        while ((end - lower()) % alignment != 0) {
            ++end;
        }
        return end;
    }

    std::int64_t extent() const { return upper() - lower(); }

    std::uint64_t size() const
    {
        std::uint64_t total = 0;
        for (const Entry& entry : map) {
            total += entry.type.size_bytes;
        }
        return total;
    }

    void append(const Model& other, std::int64_t displacement)
    {
        for (const Entry& entry : other.map) {
            map.push_back({entry.offset + displacement, entry.type});
        }
        for (const std::int64_t mark : other.lower_marks) {
            lower_marks.push_back(mark + displacement);
        }
        for (const std::int64_t mark : other.upper_marks) {
            upper_marks.push_back(mark + displacement);
        }
        if (other.upper_marks.empty() && !other.map.empty()) {
            padded_ends.push_back(other.upper() + displacement);
        }
        alignment = std::max(alignment, other.alignment);
    }
};

struct Made {
    Layout::Pointer layout;
    Model model;
};

class Maker {
  public:
    explicit Maker(std::uint32_t seed) : dice_(seed) {}

    std::int64_t draw(std::int64_t low, std::int64_t high)
    {
        return std::uniform_int_distribution<std::int64_t>(low, high)(dice_);
    }

    /// A struct of few members without overlaps, in any order.
    Made make_record()
    {
        std::vector<Made> leaves;
        std::vector<LayoutBlock> blocks;
        std::vector<const Model*> models;
        for (std::int64_t i = draw(2, 5); i > 0; --i) {
            leaves.push_back(make_leaf());
        }
        std::int64_t next = 0;
        for (const Made& leaf : leaves) {
            const std::int64_t length = draw(1, 4);
            blocks.push_back({leaf.layout.get(), next, static_cast<std::uint64_t>(length)});
            models.push_back(&leaf.model);
            next += length * leaf.model.extent() + draw(0, 3);
        }
        if (draw(0, 1) == 0) {
            std::reverse(blocks.begin(), blocks.end());
            std::reverse(models.begin(), models.end());
        }
        return make_of(blocks, models);
    }

    Made make(int depth)
    {
        if (depth == 0) {
            return make_leaf();
        }
        switch (draw(0, 4)) {
            case 0:
                return make_repeated(make(depth - 1));
            case 1:
                return make_blocks(make(depth - 1), make(depth - 1));
            case 2:
                return make_even_blocks(make(depth - 1));
            case 3:
                return make_with_bounds(make(depth - 1));
            default:
                return make_leaf();
        }
    }

  private:
    Made make_leaf()
    {
        static constexpr std::uint16_t sizes[] = {1, 2, 4, 8, 16};
        const auto id = static_cast<std::uint16_t>(draw(0, 4));
        const std::uint16_t size = sizes[id];
        const BasicPart value{{id, size}, 0, size};
        Made made;
        made.model.alignment = size;
        made.model.map.push_back({0, value.type});
        if (size != 8 || draw(0, 1) == 0) {
            made.layout = make_basic({&value, 1});
            return made;
        }
        // A pair with a gap at its end, as double and int make one.
        const BasicPart pair[] = {value, {{2, 4}, 8, 4}};
        made.layout = make_basic(pair);
        made.model.map.push_back({8, pair[1].type});
        return made;
    }

    Made make_repeated(const Made& old)
    {
        const std::int64_t count = draw(0, 4);
        const std::int64_t length = draw(0, 3);
        const std::int64_t extent = old.model.extent();
        const std::int64_t strides[] = {extent * length, extent, extent * (length + 1),
                                        -extent,         0,      draw(-40, 60)};
        const std::int64_t stride = strides[draw(0, 5)];
        Made made{make_vector(static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(length),
                              stride, *old.layout),
                  {}};
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t j = 0; j < length; ++j) {
                made.model.append(old.model, i * stride + j * extent);
            }
        }
        return made;
    }

    Made make_of(const std::vector<LayoutBlock>& blocks, const std::vector<const Model*>& models)
    {
        Made made{make_struct(blocks), {}};
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            for (std::uint64_t j = 0; j < blocks[i].length; ++j) {
                const auto step = static_cast<std::int64_t>(j) * models[i]->extent();
                made.model.append(*models[i], blocks[i].displacement + step);
            }
        }
        return made;
    }

    Made make_blocks(const Made& first, const Made& second)
    {
        std::vector<LayoutBlock> blocks;
        std::vector<const Model*> models;
        std::int64_t next = 0;
        for (std::int64_t i = draw(0, 4); i > 0; --i) {
            const Made& chosen = draw(0, 1) == 0 ? first : second;
            const std::int64_t length = draw(0, 3);
            // Often where the block before ends, so that there is something to merge.
            const std::int64_t displacement = draw(0, 1) == 0 ? next : draw(-60, 120);
            blocks.push_back(
                {chosen.layout.get(), displacement, static_cast<std::uint64_t>(length)});
            models.push_back(&chosen.model);
            next = displacement + length * chosen.model.extent();
        }
        return make_of(blocks, models);
    }

    Made make_even_blocks(const Made& old)
    {
        std::vector<LayoutBlock> blocks;
        const std::int64_t step = draw(0, 1) == 0 ? old.model.extent() : draw(-50, 50);
        const auto length = static_cast<std::uint64_t>(draw(1, 2));
        for (std::int64_t i = draw(1, 6); i > 0; --i) {
            blocks.push_back({old.layout.get(), step * i + (i == 3 ? draw(0, 1) : 0), length});
        }
        return make_of(blocks, std::vector<const Model*>(blocks.size(), &old.model));
    }

    Made make_with_bounds(const Made& old)
    {
        const std::int64_t lower = draw(-20, 20);
        const std::int64_t extent = draw(-30, 60);
        Made made{make_resized(*old.layout, lower, extent), old.model};
        made.model.lower_marks = {lower};
        made.model.upper_marks = {lower + extent};
        return made;
    }

    std::mt19937 dice_;
};

/// Memory with room for some elements on both sides of their address.
struct Arena {
    Arena(const Model& model, std::uint64_t count, std::uint8_t seed)
    {
        const std::int64_t steps = model.extent() * static_cast<std::int64_t>(count);
        begin = model.true_begin() + std::min<std::int64_t>(0, steps);
        const std::int64_t end = model.true_end() + std::max<std::int64_t>(0, steps);
        bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(end - begin, 0)));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = static_cast<std::byte>(i * 7 + seed);
        }
    }

    std::byte& at(std::int64_t offset) { return bytes[static_cast<std::size_t>(offset - begin)]; }
    void* address() { return bytes.data() - begin; }

    std::int64_t begin = 0;
    std::vector<std::byte> bytes;
};

/// Where each byte of the packed stream lies, counted from the first element's address.
std::vector<std::int64_t> places_of(const Model& model, std::uint64_t count)
{
    std::vector<std::int64_t> places;
    for (std::uint64_t i = 0; i < count; ++i) {
        for (const Entry& entry : model.map) {
            const std::int64_t from = static_cast<std::int64_t>(i) * model.extent() + entry.offset;
            for (std::int64_t byte = 0; byte < entry.type.size_bytes; ++byte) {
                places.push_back(from + byte);
            }
        }
    }
    return places;
}

void check_bounds(const Made& made)
{
    const Layout& layout = *made.layout;
    EXPECT_EQ(layout.size_bytes(), made.model.size());
    EXPECT_EQ(layout.data.begin, made.model.true_begin());
    EXPECT_EQ(layout.data.end, made.model.true_end());
    EXPECT_EQ(layout.lower_bound, made.model.lower());
    EXPECT_EQ(layout.extent, made.model.extent());
}

void check_signature(const Made& made)
{
    std::uint64_t bytes = 0;
    std::uint64_t elements = 0;
    const Signature& signature = *made.layout->signature;
    for (int round = 0; round < 2; ++round) {
        for (const Entry& entry : made.model.map) {
            EXPECT_EQ(signature.elements_in(bytes), elements);
            EXPECT_EQ(signature.bytes_of(elements), bytes);
            if (entry.type.size_bytes > 1) {
                EXPECT_EQ(signature.elements_in(bytes + 1), std::nullopt);
            }
            bytes += entry.type.size_bytes;
            ++elements;
        }
    }
}

std::uint32_t class_of(BasicType basic)
{
    return basic.id;
}

/// The first elements of the model over and over, one part each.
Signature::Pointer written_out(const Model& model, std::uint64_t elements)
{
    std::vector<Signature::Part> parts;
    for (std::uint64_t i = 0; i < elements; ++i) {
        parts.push_back({1, model.map[i % model.map.size()].type, nullptr});
    }
    return Signature::make(std::move(parts));
}

void check_digest(const Made& made, Maker& maker)
{
    if (made.model.map.empty()) {
        return;
    }
    const auto all = static_cast<std::int64_t>(made.model.map.size());
    const auto elements =
        static_cast<std::uint64_t>(maker.draw(0, std::min<std::int64_t>(3 * all, 200)));
    const SignatureDigest found = digest_of(*made.layout->signature, elements, class_of);
    const Signature::Pointer flat = written_out(made.model, elements);
    EXPECT_EQ(found, digest_of(*flat, elements, class_of));
    EXPECT_EQ(found.elements, elements);
    if (elements == 0) {
        return;
    }
    Model other = made.model;
    other.map.resize(elements);
    for (std::uint64_t i = 0; i < elements; ++i) {
        other.map[i] = made.model.map[i % made.model.map.size()];
    }
    Entry& changed =
        other.map[static_cast<std::size_t>(maker.draw(0, static_cast<std::int64_t>(elements) - 1))];
    changed.type.id = static_cast<std::uint16_t>(changed.type.id + maker.draw(1, 3));
    const Signature::Pointer different = written_out(other, elements);
    EXPECT_NE(found, digest_of(*different, elements, class_of));
}

/// Runs [from, to) of the elements, as many as there is room for, are where the places are.
void check_runs(const TypedElements& elements, const std::vector<std::int64_t>& places,
                std::size_t from, std::size_t to, std::size_t room)
{
    std::vector<std::span<std::byte>> runs(room);
    runs.resize(list_runs(elements, from, to, runs));
    std::size_t at = from;
    for (const std::span<std::byte> run : runs) {
        ASSERT_FALSE(run.empty());
        ASSERT_LE(at + run.size(), to);
        for (const std::byte& each : run) {
            ASSERT_EQ(&each, static_cast<std::byte*>(elements.address) + places[at]);
            ++at;
        }
        if (at < to) {
            ASSERT_NE(run.data() + run.size(),
                      static_cast<std::byte*>(elements.address) + places[at]);
        }
    }
    ASSERT_TRUE(at == to || runs.size() == room);
}

void check_copies(const Made& made, Maker& maker, std::uint64_t count)
{
    const std::vector<std::int64_t> places = places_of(made.model, count);
    Arena memory(made.model, count, 1);
    const TypedElements elements{made.layout->program.view(), made.layout->extent,
                                 memory.address()};
    const auto total = static_cast<std::int64_t>(places.size());
    for (int i = 0; i < 6; ++i) {
        const std::int64_t from = i == 0 ? 0 : maker.draw(0, total);
        const std::int64_t to = i == 0 ? total : maker.draw(from, total);
        std::vector<std::byte> packed(static_cast<std::size_t>(to - from) + 1, std::byte{0xEE});
        pack(elements, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to),
             packed.data());
        for (std::int64_t at = from; at < to; ++at) {
            ASSERT_EQ(packed[static_cast<std::size_t>(at - from)],
                      memory.at(places[static_cast<std::size_t>(at)]))
                << from << " " << at << " " << to;
        }
        ASSERT_EQ(packed.back(), std::byte{0xEE});

        Arena target(made.model, count, 99);
        Arena expected(made.model, count, 99);
        TypedElements into = elements;
        into.address = target.address();
        unpack(into, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to),
               packed.data());
        for (std::int64_t at = from; at < to; ++at) {
            expected.at(places[static_cast<std::size_t>(at)]) =
                packed[static_cast<std::size_t>(at - from)];
        }
        ASSERT_EQ(target.bytes, expected.bytes);
        check_runs(elements, places, static_cast<std::size_t>(from), static_cast<std::size_t>(to),
                   static_cast<std::size_t>(maker.draw(1, 40)));
    }
}

TEST(Layout, AgreesWithTheTypeMap)
{
    for (std::uint32_t seed = 0; seed < 6000; ++seed) {
        SCOPED_TRACE(seed);
        Maker maker(seed);
        const Made made = maker.make(static_cast<int>(seed % 5));
        ASSERT_NE(made.layout, nullptr);
        check_bounds(made);
        check_signature(made);
        check_digest(made, maker);
        check_copies(made, maker, static_cast<std::uint64_t>(maker.draw(0, 3)));
        if (HasFailure()) {
            return;
        }
    }
}

TEST(Layout, ManyRecordsAreCopiedAsOne)
{
    for (std::uint32_t seed = 0; seed < 3000; ++seed) {
        SCOPED_TRACE(seed);
        Maker maker(seed);
        const Made made = maker.make_record();
        ASSERT_NE(made.layout, nullptr);
        check_copies(made, maker, static_cast<std::uint64_t>(maker.draw(1, 40)));
        if (HasFailure()) {
            return;
        }
    }
}

TEST(SignatureDigest, OfManyElementsTakesFewSteps)
{
    const Signature::Pointer pair = Signature::make({{1, {1, 4}, nullptr}, {2, {2, 8}, nullptr}});
    const Signature::Pointer many = Signature::make({{std::uint64_t{1} << 40, {}, pair}});
    const Signature::Pointer turned = Signature::make({{1, {2, 8}, nullptr}, {2, {1, 4}, nullptr}});
    const std::uint64_t elements = 3 * (std::uint64_t{1} << 40);
    EXPECT_EQ(digest_of(*many, elements, class_of), digest_of(*pair, elements, class_of));
    EXPECT_NE(digest_of(*many, elements, class_of), digest_of(*turned, elements, class_of));
    EXPECT_NE(digest_of(*many, elements, class_of), digest_of(*many, elements - 1, class_of));
}

}  // namespace
}  // namespace headway::data
