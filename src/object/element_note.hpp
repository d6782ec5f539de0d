// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "data/signature_digest.hpp"

namespace headway::object {

/// What one side says of the elements of a message, or of a block of a collective call. Plain data.
struct ElementNote {
    static constexpr std::size_t text_bytes = 96;

    char text[text_bytes] = {};  ///< "3 MPI_DOUBLE"
    data::SignatureDigest digest;
    bool is_untyped = false;  ///< MPI_BYTE or MPI_PACKED, which stand for anything

    /// Whether both may speak of the same elements.
    bool agrees_with(const ElementNote& other) const noexcept
    {
        return is_untyped || other.is_untyped || digest == other.digest;
    }
};

}  // namespace headway::object
