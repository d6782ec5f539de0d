// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/signature_digest.hpp"

namespace headway::object {

/// What one side says of the elements of a message, or of a block of a collective call. Plain data.
struct ElementNote {
    static constexpr std::size_t text_bytes = 96;

    char text[text_bytes] = {};  ///< "3 MPI_DOUBLE"
    data::SignatureDigest digest;
    std::uint64_t bytes = 0;
    bool is_untyped = false;  ///< MPI_BYTE or MPI_PACKED, which stand for anything

    /// Whether both may speak of the same elements.
    bool agrees_with(const ElementNote& other) const noexcept
    {
        return is_untyped || other.is_untyped || digest == other.digest;
    }
    /// Whether both speak of all elements of one block.
    bool is_same_block(const ElementNote& other) const noexcept
    {
        return bytes == other.bytes && agrees_with(other);
    }
};

}  // namespace headway::object
