// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/element.hpp"

namespace headway::data {

/// result[i] = lower[i] (op) upper[i] for `count` elements, which lie packed, of any alignment;
/// `lower` is the operand of the lower ranks. The result may be one of the operands; else the
/// arrays do not overlap. Any thread may run it.
using ReduceKernel = void (*)(const void* lower, const void* upper, void* result,
                              std::size_t count);

/// Which registers a kernel uses. The results are the same to the bit.
enum class KernelWidth : std::uint8_t {
    plain,   ///< those that every processor of the architecture has
    widest,  ///< those of this processor
};

/// The kernel, or null where the standard does not allow the operator on the kind.
ReduceKernel reduce_kernel(ReduceOperator op, ElementKind kind,
                           KernelWidth width = KernelWidth::widest) noexcept;

}  // namespace headway::data
