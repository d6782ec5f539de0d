// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "data/element.hpp"

namespace headway::data {

/// inout[i] = in[i] (op) inout[i] for `count` elements, which lie packed, of any alignment. The
/// arrays do not overlap. Any thread may run it.
using ReduceKernel = void (*)(const void* in, void* inout, std::size_t count);

/// The kernel, or null where the standard does not allow the operator on the kind.
ReduceKernel reduce_kernel(ReduceOperator op, ElementKind kind) noexcept;

}  // namespace headway::data
