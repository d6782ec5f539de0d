// SPDX-License-Identifier: Apache-2.0
// A short stand-in for a sequence of basic elements, by which two ranks compare what they say of
// one message without sending each other their type signatures.
#pragma once

#include <cstdint>

#include "data/signature.hpp"

namespace headway::data {

/// Equal sequences have equal digests; of different ones with as many elements hardly ever.
struct SignatureDigest {
    std::uint64_t elements = 0;
    std::uint64_t hash = 0;
    bool operator==(const SignatureDigest&) const = default;
};

/// What an element counts as: those of one class may stand for each other.
using ElementClassOf = std::uint32_t (*)(BasicType);

/// Of the first `elements` basic elements of a signature over and over, in as many steps as it has
/// parts, whatever they are repeated. Requires a signature that is not empty, or no elements.
SignatureDigest digest_of(const Signature& signature, std::uint64_t elements,
                          ElementClassOf class_of);

}  // namespace headway::data
