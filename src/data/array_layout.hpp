// SPDX-License-Identifier: Apache-2.0
// Parts of arrays of several dimensions (MPI-5.0 sections 5.1.3 and 5.1.4). Dimensions stand with
// the one that varies fastest in memory first. Null: a size does not fit 63 bits.
#pragma once

#include <cstdint>
#include <span>

#include "data/layout.hpp"

namespace headway::data {

/// What of a dimension of `size` belongs to the part: [start, start + part_size).
struct SubarrayDimension {
    std::int64_t size = 0;
    std::int64_t part_size = 0;
    std::int64_t start = 0;
};

Layout::Pointer make_subarray(std::span<const SubarrayDimension> dimensions, const Layout& element);

/// Blocks of `block` indices are dealt out in turn to `processes`; those of process `coordinate`
/// belong to the part.
struct DealtDimension {
    std::int64_t size = 0;
    std::int64_t block = 1;
    std::int64_t processes = 1;
    std::int64_t coordinate = 0;
};

Layout::Pointer make_dealt_array(std::span<const DealtDimension> dimensions, const Layout& element);

}  // namespace headway::data
