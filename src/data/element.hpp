// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headway::data {

/// How the bytes of one basic element are read by arithmetic.
enum class ElementKind : std::uint8_t {
    none,  ///< no arithmetic (characters, packed bytes)
    int8,
    int16,
    int32,
    int64,
    int128,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64,
    float_long,
    float128,
    complex32,
    complex64,
    complex_long,
    complex128,
    logical8,  ///< Fortran LOGICAL or C bool of one byte: zero is false, anything else true
    logical16,
    logical32,
    logical64,
    logical128,
    byte,
    // pairs (value, index), packed: without the gaps that they have as C structs
    pair_float_int,
    pair_double_int,
    pair_long_int,
    pair_int_int,
    pair_short_int,
    pair_long_double_int,
    pair_float_float,
    pair_double_double,
    count,
};

/// Predefined reduction operators (MPI-5.0 section 6.9.2); `replace` and `no_op` belong to
/// one-sided calls.
enum class ReduceOperator : std::uint8_t {
    max,
    min,
    sum,
    product,
    logical_and,
    logical_or,
    logical_xor,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    max_location,
    min_location,
    count,
};

}  // namespace headway::data
