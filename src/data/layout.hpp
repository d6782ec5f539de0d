// SPDX-License-Identifier: Apache-2.0
// One element of a datatype: where its bytes lie, what they are, where the next element begins
// (MPI-5.0 section 5.1). All constructors of the standard are made of the three here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "data/signature.hpp"
#include "data/type_program.hpp"

namespace headway::data {

/// Bytes from the first to behind the last, counted from the element's address.
struct ByteRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Never changed after it was made. Any thread.
struct Layout {
    using Pointer = std::shared_ptr<const Layout>;

    TypeProgram program;
    Signature::Pointer signature;
    /// What the bytes of data span; the true extent.
    ByteRange data;
    /// Bounds that were given by hand, by make_resized here or further inside: they prevail.
    std::optional<std::int64_t> lower_mark;
    std::optional<std::int64_t> upper_mark;
    /// Without marks the upper bound lies behind the parts' own ones, with what pads these.
    std::int64_t lower_bound = 0;
    std::int64_t extent = 0;
    /// The strictest alignment of its basic types; extents without an upper mark are multiples.
    std::int64_t alignment = 1;

    std::uint64_t size_bytes() const noexcept { return program.view().packed_bytes(); }
    /// Any number of elements is one run of bytes, `data.begin` behind the first one's address.
    bool is_dense() const noexcept
    {
        const ProgramView view = program.view();
        return view.is_empty() ||
               (view.is_run() && extent == static_cast<std::int64_t>(view.packed_bytes()));
    }
};

/// `length` elements one after the other, the first at `displacement` bytes.
struct LayoutBlock {
    const Layout* layout = nullptr;
    std::int64_t displacement = 0;
    std::uint64_t length = 0;
};

/// A part of a basic type: some have gaps (MPI_DOUBLE_INT is a C struct).
struct BasicPart {
    BasicType type;
    std::int64_t offset = 0;
    std::int64_t alignment = 1;
};

Layout::Pointer make_basic(std::span<const BasicPart> parts);

// Null: size, bounds or extent do not fit 63 bits.

/// Blocks, in the order in which they travel.
Layout::Pointer make_struct(std::span<const LayoutBlock> blocks);
/// `count` blocks of `length` elements, each `stride` bytes behind the one before.
Layout::Pointer make_vector(std::uint64_t count, std::uint64_t length, std::int64_t stride,
                            const Layout& element);
/// The same bytes between other bounds.
Layout::Pointer make_resized(const Layout& element, std::int64_t lower_bound, std::int64_t extent);

}  // namespace headway::data
