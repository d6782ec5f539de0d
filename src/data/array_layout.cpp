// SPDX-License-Identifier: Apache-2.0
#include "data/array_layout.hpp"

#include <algorithm>

namespace headway::data {

namespace {

Layout::Pointer place(const Layout& layout, std::int64_t displacement)
{
    const LayoutBlock block{&layout, displacement, 1};
    return make_struct({&block, 1});
}

/// The whole array's bytes up to a dimension; the distance of its neighbours. False: too many.
bool step_over(std::int64_t& stride, std::int64_t size)
{
    return !__builtin_mul_overflow(stride, size, &stride);
}

/// `inner` at every index of a dimension that belongs to the part.
Layout::Pointer deal(const DealtDimension& dimension, std::int64_t stride, const Layout& inner)
{
    const std::int64_t first = dimension.coordinate * dimension.block;
    if (first >= dimension.size) {
        return make_vector(0, 0, 0, inner);
    }
    const std::int64_t round = dimension.processes * dimension.block;
    const std::int64_t left = dimension.size - first;
    const std::int64_t full = left >= dimension.block ? (left - dimension.block) / round + 1 : 0;
    const std::int64_t last = std::clamp<std::int64_t>(left - full * round, 0, dimension.block);
    const auto row = [&](std::int64_t length) {
        return make_vector(static_cast<std::uint64_t>(length), 1, stride, inner);
    };
    const Layout::Pointer block = row(dimension.block);
    const Layout::Pointer rest = row(last);
    if (block == nullptr || rest == nullptr) {
        return nullptr;
    }
    const Layout::Pointer blocks =
        make_vector(static_cast<std::uint64_t>(full), 1, round * stride, *block);
    if (blocks == nullptr) {
        return nullptr;
    }
    const LayoutBlock parts[] = {{blocks.get(), first * stride, 1},
                                 {rest.get(), (first + full * round) * stride, 1}};
    return make_struct(parts);
}

}  // namespace

Layout::Pointer make_subarray(std::span<const SubarrayDimension> dimensions, const Layout& element)
{
    std::int64_t stride = element.extent;
    std::int64_t start = 0;
    auto part = std::make_shared<const Layout>(element);
    for (const SubarrayDimension& dimension : dimensions) {
        part = make_vector(static_cast<std::uint64_t>(dimension.part_size), 1, stride, *part);
        std::int64_t skipped = 0;
        if (part == nullptr || __builtin_mul_overflow(dimension.start, stride, &skipped) ||
            __builtin_add_overflow(start, skipped, &start) || !step_over(stride, dimension.size)) {
            return nullptr;
        }
    }
    part = place(*part, start);
    return part != nullptr ? make_resized(*part, 0, stride) : nullptr;
}

Layout::Pointer make_dealt_array(std::span<const DealtDimension> dimensions, const Layout& element)
{
    std::int64_t stride = element.extent;
    auto part = std::make_shared<const Layout>(element);
    for (const DealtDimension& dimension : dimensions) {
        std::int64_t whole = stride;
        std::int64_t round = 0;
        if (!step_over(whole, dimension.size) ||
            __builtin_mul_overflow(dimension.processes, dimension.block, &round) ||
            __builtin_mul_overflow(round, stride, &round)) {
            return nullptr;
        }
        part = deal(dimension, stride, *part);
        if (part == nullptr) {
            return nullptr;
        }
        stride = whole;
    }
    return make_resized(*part, 0, stride);
}

}  // namespace headway::data
