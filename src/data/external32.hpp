// SPDX-License-Identifier: Apache-2.0
// The representation external32 of packed elements (MPI-5.0 section 14.5.2): big-endian, IEEE
// floating point, sizes that are the same on all machines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/signature.hpp"

namespace headway::data {

/// How a basic type is written there: `parts` numbers (two of a complex type) one after the other.
struct ExternalForm {
    enum class Number : std::uint8_t {
        same,              ///< the same bits, in the other order
        signed_integer,    ///< shorter there
        unsigned_integer,  ///< shorter there
        long_double,       ///< this machine's, there of 128 bits
    };

    std::uint16_t native_bytes = 1;    ///< of one part
    std::uint16_t external_bytes = 1;  ///< likewise
    std::uint16_t parts = 1;
    Number number = Number::same;
};

/// Requires: a basic type of this machine.
using ExternalFormOf = ExternalForm (*)(BasicType);

/// Bytes of one signature in external32.
std::uint64_t external_bytes(const Signature& signature, ExternalFormOf form_of);

/// Writes `count` signatures, packed one behind the other, in external32, or back.
void to_external(const Signature& signature, std::uint64_t count, ExternalFormOf form_of,
                 const std::byte* packed, std::byte* external);
void from_external(const Signature& signature, std::uint64_t count, ExternalFormOf form_of,
                   const std::byte* external, std::byte* packed);

}  // namespace headway::data
