// SPDX-License-Identifier: Apache-2.0
#include "data/layout.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "data/program_builder.hpp"

namespace headway::data {

namespace {

/// Products and sums of caller's numbers, before it is known whether they fit.
__extension__ using Wide = __int128;

bool fits(Wide value)
{
    return value >= std::numeric_limits<std::int64_t>::min() &&
           value <= std::numeric_limits<std::int64_t>::max();
}

/// The smallest range that holds all that was added.
struct Hull {
    bool is_empty = true;
    Wide low = 0;
    Wide high = 0;

    void add(Wide value)
    {
        low = is_empty ? value : std::min(low, value);
        high = is_empty ? value : std::max(high, value);
        is_empty = false;
    }
};

/// Sizes and bounds of a layout that is being made.
class Measure {
  public:
    /// `count` times a block of `length` elements, `stride` bytes apart, the first at
    /// `displacement`. Requires count and length > 0.
    void add(const Layout& element, std::int64_t displacement, std::uint64_t count,
             std::int64_t stride, std::uint64_t length);
    /// False: something does not fit.
    bool write(Layout& layout) const;

  private:
    Hull data_begin_;
    Hull data_end_;
    Hull padded_end_;
    Hull lower_;
    Hull upper_;
    Wide size_ = 0;
    std::int64_t alignment_ = 1;
    bool is_too_large_ = false;
};

void Measure::add(const Layout& element, std::int64_t displacement, std::uint64_t count,
                  std::int64_t stride, std::uint64_t length)
{
    const Wide last_block = Wide{stride} * (Wide{count} - 1);
    const Wide last_element = Wide{element.extent} * (Wide{length} - 1);
    const Wide elements = Wide{count} * length;
    if (is_too_large_ || !fits(last_block) || !fits(last_element) || !fits(elements)) {
        is_too_large_ = true;
        return;
    }
    // Bounds of what is repeated lie in its first or last repetition, whichever way it goes.
    for (const Wide place : {Wide{0}, last_block, last_element, last_block + last_element}) {
        const Wide at = displacement + place;
        if (element.size_bytes() != 0) {
            data_begin_.add(at + element.data.begin);
            data_end_.add(at + element.data.end);
        }
        if (element.lower_mark) {
            lower_.add(at + *element.lower_mark);
        }
        if (element.upper_mark) {
            upper_.add(at + *element.upper_mark);
        } else if (element.size_bytes() != 0) {
            padded_end_.add(at + element.lower_bound + element.extent);
        }
    }
    size_ += elements * element.size_bytes();
    is_too_large_ = !fits(size_);
    alignment_ = std::max(alignment_, element.alignment);
}

bool Measure::write(Layout& layout) const
{
    const Wide lower = lower_.is_empty ? data_begin_.low : lower_.low;
    Wide upper = upper_.high;
    if (upper_.is_empty) {
        const Wide span = padded_end_.high - lower;
        const Wide over = span > 0 ? span % alignment_ : 0;
        upper = padded_end_.high + (over != 0 ? alignment_ - over : 0);
    }
    if (is_too_large_ || !fits(lower) || !fits(upper) || !fits(upper - lower) ||
        !fits(data_begin_.low) || !fits(data_end_.high) ||
        !fits(data_end_.high - data_begin_.low)) {
        return false;
    }
    layout.data = {static_cast<std::int64_t>(data_begin_.low),
                   static_cast<std::int64_t>(data_end_.high)};
    if (!lower_.is_empty) {
        layout.lower_mark = static_cast<std::int64_t>(lower);
    }
    if (!upper_.is_empty) {
        layout.upper_mark = static_cast<std::int64_t>(upper);
    }
    layout.lower_bound = static_cast<std::int64_t>(lower);
    layout.extent = static_cast<std::int64_t>(upper - lower);
    layout.alignment = alignment_;
    return true;
}

}  // namespace

Layout::Pointer make_basic(std::span<const BasicPart> parts)
{
    auto layout = std::make_shared<Layout>();
    ProgramBuilder builder;
    std::vector<ProgramBuilder::Piece> pieces;
    std::vector<Signature::Part> signature;
    std::int64_t end = 0;
    for (const BasicPart& part : parts) {
        pieces.push_back({part.offset, builder.make_run(part.type.size_bytes).node});
        signature.push_back({1, part.type, nullptr});
        end = part.offset + part.type.size_bytes;
        layout->alignment = std::max(layout->alignment, part.alignment);
    }
    layout->program = builder.finish(builder.make_sequence(pieces));
    layout->signature = Signature::make(std::move(signature));
    layout->data = {0, end};
    layout->extent = (end + layout->alignment - 1) / layout->alignment * layout->alignment;
    return layout;
}

Layout::Pointer make_struct(std::span<const LayoutBlock> blocks)
{
    auto layout = std::make_shared<Layout>();
    Measure measure;
    std::vector<Signature::Part> signature;
    for (const LayoutBlock& block : blocks) {
        if (block.length != 0) {
            measure.add(*block.layout, block.displacement, 1, 0, block.length);
            signature.push_back({block.length, {}, block.layout->signature});
        }
    }
    if (!measure.write(*layout)) {
        return nullptr;
    }
    ProgramBuilder builder;
    std::vector<ProgramBuilder::Piece> pieces;
    for (const LayoutBlock& block : blocks) {
        ProgramBuilder::Piece piece = builder.make_loop(block.length, block.layout->extent,
                                                        builder.import(block.layout->program));
        piece.offset += block.displacement;
        pieces.push_back(piece);
    }
    layout->program = builder.finish(builder.make_sequence(pieces));
    layout->signature = Signature::make(std::move(signature));
    return layout;
}

Layout::Pointer make_vector(std::uint64_t count, std::uint64_t length, std::int64_t stride,
                            const Layout& element)
{
    auto layout = std::make_shared<Layout>();
    Measure measure;
    if (count != 0 && length != 0) {
        measure.add(element, 0, count, stride, length);
    }
    if (!measure.write(*layout)) {
        return nullptr;
    }
    ProgramBuilder builder;
    const auto row = builder.make_loop(length, element.extent, builder.import(element.program));
    layout->program = builder.finish(builder.make_loop(count, stride, row));
    layout->signature = Signature::make({{count * length, {}, element.signature}});
    return layout;
}

Layout::Pointer make_resized(const Layout& element, std::int64_t lower_bound, std::int64_t extent)
{
    std::int64_t upper = 0;
    if (__builtin_add_overflow(lower_bound, extent, &upper)) {
        return nullptr;
    }
    auto layout = std::make_shared<Layout>(element);
    layout->lower_mark = layout->lower_bound = lower_bound;
    layout->upper_mark = upper;
    layout->extent = extent;
    return layout;
}

}  // namespace headway::data
