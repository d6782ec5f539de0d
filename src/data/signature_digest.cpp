// SPDX-License-Identifier: Apache-2.0
#include "data/signature_digest.hpp"

#include <algorithm>

namespace headway::data {

namespace {

/// A prime, so that a product is zero only where a factor is.
constexpr std::uint64_t modulus = (std::uint64_t{1} << 61) - 1;
constexpr std::uint64_t base = 0x0DB4'DA5F'7EF4'12B1;

std::uint64_t reduced(std::uint64_t value)
{
    return value >= modulus ? value - modulus : value;
}

std::uint64_t product(std::uint64_t a, std::uint64_t b)
{
    __extension__ using Wide = unsigned __int128;
    const Wide wide = Wide{a} * b;
    return reduced(static_cast<std::uint64_t>(wide & modulus) +
                   static_cast<std::uint64_t>(wide >> 61));
}

/// A sequence of elements as the polynomial whose coefficients they are, at `base`; sequences are
/// joined without looking at their elements again.
struct Sequence {
    std::uint64_t elements = 0;
    std::uint64_t value = 0;
    std::uint64_t weight = 1;  ///< base to the power of `elements`
};

Sequence joined(const Sequence& first, const Sequence& second)
{
    return {first.elements + second.elements,
            reduced(first.value + product(first.weight, second.value)),
            product(first.weight, second.weight)};
}

Sequence repeated(Sequence unit, std::uint64_t count)
{
    Sequence result;
    for (; count != 0; count >>= 1U) {
        if ((count & 1U) != 0) {
            result = joined(result, unit);
        }
        unit = joined(unit, unit);
    }
    return result;
}

Sequence element(std::uint32_t element_class)
{
    return {1, product(element_class + std::uint64_t{1}, 0x1357'9BDF'0246'8ACE), base};
}

Sequence sequence_of(const Signature& signature, std::uint64_t elements, ElementClassOf class_of);

/// The first `elements` of a part.
Sequence sequence_of(const Signature::Part& part, std::uint64_t elements, ElementClassOf class_of)
{
    return part.inner != nullptr ? sequence_of(*part.inner, elements, class_of)
                                 : repeated(element(class_of(part.basic)), elements);
}

/// One signature, or less.
Sequence begin_of(const Signature& signature, std::uint64_t elements, ElementClassOf class_of)
{
    Sequence result;
    for (const Signature::Part& part : signature.parts()) {
        const std::uint64_t unit = part.inner != nullptr ? part.inner->elements() : 1;
        const std::uint64_t wanted = std::min(elements - result.elements, part.repeat * unit);
        if (wanted == 0) {
            break;
        }
        result = joined(result, sequence_of(part, wanted, class_of));
    }
    return result;
}

Sequence sequence_of(const Signature& signature, std::uint64_t elements, ElementClassOf class_of)
{
    const std::uint64_t all = signature.elements();
    if (elements == 0 || all == 0) {
        return {};
    }
    if (elements < all) {
        return begin_of(signature, elements, class_of);
    }
    const Sequence whole = repeated(begin_of(signature, all, class_of), elements / all);
    return joined(whole, begin_of(signature, elements % all, class_of));
}

}  // namespace

SignatureDigest digest_of(const Signature& signature, std::uint64_t elements,
                          ElementClassOf class_of)
{
    const Sequence sequence = sequence_of(signature, elements, class_of);
    return {sequence.elements, sequence.value};
}

}  // namespace headway::data
