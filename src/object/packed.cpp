// SPDX-License-Identifier: Apache-2.0
#include "object/packed.hpp"

#include <algorithm>
#include <cstring>

namespace headway::object {

namespace {

/// Where an element has its second part: behind the first, aligned for itself, as in a C struct.
/// Every second part is an int, float or double, whose alignment is its size.
std::size_t index_offset(const Datatype& type) noexcept
{
    const std::size_t index_bytes = std::size_t{type.size_bytes} - type.value_bytes;
    const std::size_t alignment = std::max<std::size_t>(index_bytes, 1);
    return (type.value_bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

void pack(const Datatype& type, const void* elements, std::uint64_t count, std::byte* packed)
{
    if (!has_gaps(type)) {
        if (count != 0) {
            std::memcpy(packed, elements, count * type.size_bytes);
        }
        return;
    }
    const std::size_t second = index_offset(type);
    const std::size_t index_bytes = std::size_t{type.size_bytes} - type.value_bytes;
    const auto* from = static_cast<const std::byte*>(elements);
    for (std::uint64_t i = 0; i < count; ++i) {
        std::memcpy(packed, from, type.value_bytes);
        std::memcpy(packed + type.value_bytes, from + second, index_bytes);
        packed += type.size_bytes;
        from += type.extent_bytes;
    }
}

void unpack(const Datatype& type, const std::byte* packed, std::uint64_t bytes, void* elements)
{
    const std::size_t second = index_offset(type);
    auto* to = static_cast<std::byte*>(elements);
    while (bytes != 0) {
        const std::size_t value = std::min<std::uint64_t>(bytes, type.value_bytes);
        std::memcpy(to, packed, value);
        const std::size_t index =
            std::min<std::uint64_t>(bytes - value, std::uint64_t{type.size_bytes} - value);
        std::memcpy(to + second, packed + value, index);
        bytes -= value + index;
        packed += type.size_bytes;
        to += type.extent_bytes;
    }
}

PackedSend::PackedSend(const Datatype& type, const void* elements, std::uint64_t count)
    : packed_(std::make_unique_for_overwrite<std::byte[]>(count * type.size_bytes))
{
    pack(type, elements, count, packed_.get());
}

void PackedSend::finish(Rank& /*rank*/, engine::Op& /*op*/) {}

PackedReceive::PackedReceive(const Datatype& type, void* elements, std::uint64_t count)
    : type_(type),
      elements_(elements),
      packed_(std::make_unique_for_overwrite<std::byte[]>(count * type.size_bytes))
{
}

void PackedReceive::finish(Rank& /*rank*/, engine::Op& op)
{
    unpack(type_, packed_.get(), op.status_bytes, elements_);
}

}  // namespace headway::object
