// SPDX-License-Identifier: Apache-2.0
// The basic types of which a datatype is made, in the order in which they travel, without their
// places: what MPI calls a type signature.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace headway::data {

/// A basic type: `id` tells two of one size apart and is the caller's.
struct BasicType {
    std::uint16_t id = 0;
    std::uint16_t size_bytes = 0;
    bool operator==(const BasicType&) const = default;
};

/// Never changed after it was made; shared by the types made of one another. Any thread.
class Signature {
  public:
    using Pointer = std::shared_ptr<const Signature>;

    struct Part {
        std::uint64_t repeat = 0;
        BasicType basic;  ///< where there is no inner signature
        Pointer inner;
    };

    /// One part after the other; parts that are empty are left out, equal neighbours become one.
    static Pointer make(std::vector<Part> parts);

    /// Basic elements, and their bytes.
    std::uint64_t elements() const noexcept { return elements_; }
    std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    /// In order; none is empty, and no part holds but one part.
    std::span<const Part> parts() const noexcept { return parts_; }

    /// How many basic elements the first `bytes` hold of this signature over and over; none where
    /// they end within an element.
    std::optional<std::uint64_t> elements_in(std::uint64_t bytes) const;
    /// Bytes of the first `elements` of this signature over and over; none where they cannot be
    /// counted.
    std::optional<std::uint64_t> bytes_of(std::uint64_t elements) const;

    /// Calls `visit(basic, repeat)` for all of one signature, in order.
    template <typename Visit>
    void for_each_run(const Visit& visit) const
    {
        for (const Part& part : parts_) {
            if (part.inner == nullptr) {
                visit(part.basic, part.repeat);
                continue;
            }
            for (std::uint64_t i = 0; i < part.repeat; ++i) {
                part.inner->for_each_run(visit);
            }
        }
    }

  private:
    explicit Signature(std::vector<Part> parts);

    std::vector<Part> parts_;
    std::uint64_t elements_ = 0;
    std::uint64_t size_bytes_ = 0;
};

}  // namespace headway::data
