// SPDX-License-Identifier: Apache-2.0
#include "data/external32.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace headway::data {

// Numbers are turned around; a machine that is big-endian needs none of it.
static_assert(std::endian::native == std::endian::little);

namespace {

__extension__ using Quad = __float128;
static_assert(sizeof(Quad) == 16);

using Number = ExternalForm::Number;

void turn(const std::byte* from, std::size_t bytes, std::byte* to)
{
    std::reverse_copy(from, from + bytes, to);
}

void write_number(const ExternalForm& form, const std::byte* native, std::byte* external)
{
    if (form.number == Number::long_double) {
        long double value = 0;
        std::memcpy(&value, native, sizeof value);
        const auto quad = static_cast<Quad>(value);
        std::byte bytes[sizeof quad];
        std::memcpy(bytes, &quad, sizeof quad);
        turn(bytes, sizeof quad, external);
        return;
    }
    // The low bytes come first here: a shorter number is the beginning of the longer one.
    turn(native, form.external_bytes, external);
}

void read_number(const ExternalForm& form, const std::byte* external, std::byte* native)
{
    if (form.number == Number::long_double) {
        std::byte bytes[sizeof(Quad)];
        turn(external, sizeof bytes, bytes);
        Quad quad = 0;
        std::memcpy(&quad, bytes, sizeof quad);
        const auto value = static_cast<long double>(quad);
        std::memset(native, 0, form.native_bytes);
        std::memcpy(native, &value, sizeof value);
        return;
    }
    turn(external, form.external_bytes, native);
    const bool is_negative =
        form.number == Number::signed_integer && std::to_integer<unsigned>(external[0]) >= 0x80U;
    std::fill(native + form.external_bytes, native + form.native_bytes,
              is_negative ? std::byte{0xFF} : std::byte{0});
}

}  // namespace

std::uint64_t external_bytes(const Signature& signature, ExternalFormOf form_of)
{
    std::uint64_t bytes = 0;
    signature.for_each_run([&](BasicType basic, std::uint64_t repeat) {
        const ExternalForm form = form_of(basic);
        bytes += repeat * form.parts * form.external_bytes;
    });
    return bytes;
}

namespace {

/// Walks through `count` elements in both forms: use(form, native offset, external offset) for each
/// number.
template <typename Use>
void for_each_number(const Signature& signature, std::uint64_t count, ExternalFormOf form_of,
                     Use&& use)
{
    std::uint64_t native = 0;
    std::uint64_t external = 0;
    for (std::uint64_t element = 0; element < count; ++element) {
        signature.for_each_run([&](BasicType basic, std::uint64_t repeat) {
            const ExternalForm form = form_of(basic);
            for (std::uint64_t i = 0; i < repeat * form.parts; ++i) {
                use(form, native, external);
                native += form.native_bytes;
                external += form.external_bytes;
            }
        });
    }
}

}  // namespace

void to_external(const Signature& signature, std::uint64_t count, ExternalFormOf form_of,
                 const std::byte* packed, std::byte* external)
{
    for_each_number(signature, count, form_of,
                    [&](const ExternalForm& form, std::uint64_t native, std::uint64_t at) {
                        write_number(form, packed + native, external + at);
                    });
}

void from_external(const Signature& signature, std::uint64_t count, ExternalFormOf form_of,
                   const std::byte* external, std::byte* packed)
{
    for_each_number(signature, count, form_of,
                    [&](const ExternalForm& form, std::uint64_t native, std::uint64_t at) {
                        read_number(form, external + at, packed + native);
                    });
}

}  // namespace headway::data
