// SPDX-License-Identifier: Apache-2.0
#include "data/signature.hpp"

#include <utility>

namespace headway::data {

namespace {

std::uint64_t unit_bytes(const Signature::Part& part)
{
    return part.inner != nullptr ? part.inner->size_bytes() : part.basic.size_bytes;
}

std::uint64_t unit_elements(const Signature::Part& part)
{
    return part.inner != nullptr ? part.inner->elements() : 1;
}

}  // namespace

Signature::Signature(std::vector<Part> parts) : parts_(std::move(parts))
{
    for (const Part& part : parts_) {
        elements_ += part.repeat * unit_elements(part);
        size_bytes_ += part.repeat * unit_bytes(part);
    }
}

Signature::Pointer Signature::make(std::vector<Part> parts)
{
    std::vector<Part> kept;
    for (Part& part : parts) {
        // What holds one part only stands for that part.
        if (part.inner != nullptr && part.inner->parts_.size() == 1) {
            const Part only = part.inner->parts_.front();
            part = {part.repeat * only.repeat, only.basic, only.inner};
        }
        if (part.repeat == 0 || unit_bytes(part) == 0) {
            continue;
        }
        if (!kept.empty() && kept.back().inner == part.inner && kept.back().basic == part.basic) {
            kept.back().repeat += part.repeat;
        } else {
            kept.push_back(std::move(part));
        }
    }
    return Pointer(new Signature(std::move(kept)));
}

std::optional<std::uint64_t> Signature::elements_in(std::uint64_t bytes) const
{
    if (size_bytes_ == 0) {
        return bytes == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
    }
    std::uint64_t found = bytes / size_bytes_ * elements_;
    std::uint64_t rest = bytes % size_bytes_;
    for (const Part& part : parts_) {
        const std::uint64_t unit = unit_bytes(part);
        if (rest >= part.repeat * unit) {
            found += part.repeat * unit_elements(part);
            rest -= part.repeat * unit;
            continue;
        }
        found += rest / unit * unit_elements(part);
        rest %= unit;
        if (part.inner == nullptr) {
            return rest == 0 ? std::optional(found) : std::nullopt;
        }
        const auto inner = part.inner->elements_in(rest);
        return inner ? std::optional(found + *inner) : std::nullopt;
    }
    return found;
}

std::optional<std::uint64_t> Signature::bytes_of(std::uint64_t elements) const
{
    if (elements_ == 0) {
        return elements == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
    }
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(elements / elements_, size_bytes_, &bytes)) {
        return std::nullopt;
    }
    std::uint64_t rest = elements % elements_;
    for (const Part& part : parts_) {
        const std::uint64_t unit = unit_elements(part);
        if (rest >= part.repeat * unit) {
            bytes += part.repeat * unit_bytes(part);
            rest -= part.repeat * unit;
            continue;
        }
        bytes += rest / unit * unit_bytes(part);
        rest %= unit;
        return part.inner != nullptr ? bytes + part.inner->bytes_of(rest).value_or(0) : bytes;
    }
    return bytes;
}

}  // namespace headway::data
