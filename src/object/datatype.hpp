// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "data/element.hpp"
#include "mpi.h"

namespace headway::object {

/// A predefined datatype. Pairs (MPI_DOUBLE_INT and kin) lie in memory as C structs, with gaps
/// where those have them; on the wire an element is size_bytes.
struct Datatype {
    std::uint16_t size_bytes = 0;    ///< bytes of data in an element; 0: no such type here
    std::uint16_t extent_bytes = 0;  ///< from one element of an array to the next
    std::uint8_t value_bytes = 0;    ///< pairs: bytes of their first element; others: 0
    data::ElementKind kind = data::ElementKind::none;
};

/// The type behind a predefined handle, or null where the standard has none or this platform lacks
/// the language type. Never changed; any thread.
const Datatype* find_datatype(MPI_Datatype handle) noexcept;

}  // namespace headway::object
